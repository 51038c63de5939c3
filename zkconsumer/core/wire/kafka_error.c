#include "zkconsumer/core/wire/kafka_error.h"
#include "zkconsumer/core/base/array.h"
#include <stddef.h>

enum error_class {
    FINAL,
    RETRIABLE,
    STALE, /* retriable, after the metadata was read again */
};

struct error_row {
    const char *name;
    enum error_class class;
    const char *text;
};

#define ROW(name, class, text) [KAFKA_ERR_##name + 1] = {#name, class, text}

/* By code + 1. */
static const struct error_row rows[] = {
    ROW(UNKNOWN_SERVER_ERROR, FINAL, "the broker met an unexpected error"),
    ROW(NONE, FINAL, "no error"),
    ROW(OFFSET_OUT_OF_RANGE, FINAL, "the offset is outside of the partition log"),
    ROW(CORRUPT_MESSAGE, RETRIABLE,
        "a message is corrupt, too large, or has no key where the topic needs one"),
    ROW(UNKNOWN_TOPIC_OR_PARTITION, STALE, "the broker does not know this topic or partition"),
    ROW(INVALID_FETCH_SIZE, FINAL, "the fetch size is not allowed"),
    ROW(LEADER_NOT_AVAILABLE, STALE, "the partition has no leader at the moment"),
    ROW(NOT_LEADER_OR_FOLLOWER, STALE, "the broker does not lead this partition (any more)"),
    ROW(REQUEST_TIMED_OUT, RETRIABLE, "the request was not carried out in its time"),
    ROW(BROKER_NOT_AVAILABLE, FINAL, "the broker is not available"),
    ROW(REPLICA_NOT_AVAILABLE, STALE, "a replica of the partition is not available"),
    ROW(MESSAGE_TOO_LARGE, FINAL, "the message is larger than the broker allows"),
    ROW(STALE_CONTROLLER_EPOCH, FINAL, "the controller has moved to another broker"),
    ROW(OFFSET_METADATA_TOO_LARGE, FINAL, "the metadata of the offset commit is too large"),
    ROW(NETWORK_EXCEPTION, STALE, "the broker disconnected before it answered"),
    ROW(COORDINATOR_LOAD_IN_PROGRESS, RETRIABLE, "the coordinator is still reading its offsets"),
    ROW(COORDINATOR_NOT_AVAILABLE, RETRIABLE, "the coordinator is not available"),
    ROW(NOT_COORDINATOR, RETRIABLE, "the broker is not the coordinator asked for"),
    ROW(INVALID_TOPIC_EXCEPTION, FINAL, "the topic name is not allowed, or the topic is internal"),
    ROW(RECORD_LIST_TOO_LARGE, FINAL,
        "the message set is larger than a segment of the partition log"),
    ROW(NOT_ENOUGH_REPLICAS, RETRIABLE, "fewer replicas are in sync than required"),
    ROW(NOT_ENOUGH_REPLICAS_AFTER_APPEND, RETRIABLE,
        "written, but to fewer replicas in sync than required"),
    ROW(INVALID_REQUIRED_ACKS, FINAL, "the value of required acks is not allowed"),
    ROW(ILLEGAL_GENERATION, FINAL, "the generation is not the group's"),
    ROW(INCONSISTENT_GROUP_PROTOCOL, FINAL, "no protocol is common to all members of the group"),
    ROW(INVALID_GROUP_ID, FINAL, "the group id is not allowed"),
    ROW(UNKNOWN_MEMBER_ID, FINAL, "the coordinator does not know this member"),
    ROW(INVALID_SESSION_TIMEOUT, FINAL, "the session timeout is outside of the broker's limits"),
    ROW(REBALANCE_IN_PROGRESS, FINAL, "the group is rebalancing; join again"),
    ROW(INVALID_COMMIT_OFFSET_SIZE, FINAL, "the offset commit is larger than a message may be"),
    ROW(TOPIC_AUTHORIZATION_FAILED, FINAL, "not authorized for the topic"),
    ROW(GROUP_AUTHORIZATION_FAILED, FINAL, "not authorized for the group"),
    ROW(CLUSTER_AUTHORIZATION_FAILED, FINAL, "not authorized for the cluster"),
    ROW(INVALID_TIMESTAMP, FINAL, "the timestamp of a message is out of range"),
    ROW(UNSUPPORTED_SASL_MECHANISM, FINAL, "the broker does not support the SASL mechanism"),
    ROW(ILLEGAL_SASL_STATE, FINAL, "the request is not allowed in this state of SASL"),
    ROW(UNSUPPORTED_VERSION, FINAL, "the broker does not support this version of the request"),
    ROW(TOPIC_ALREADY_EXISTS, FINAL, "the topic exists already"),
    ROW(INVALID_PARTITIONS, FINAL, "the number of partitions is not allowed"),
    ROW(INVALID_REPLICATION_FACTOR, FINAL, "the replication factor is not allowed"),
    ROW(INVALID_REPLICA_ASSIGNMENT, FINAL, "the replica assignment is not allowed"),
    ROW(INVALID_CONFIG, FINAL, "the configuration is not valid"),
    ROW(NOT_CONTROLLER, RETRIABLE, "the broker is not the controller"),
    ROW(INVALID_REQUEST, FINAL, "the request contradicts itself, or the broker is incompatible"),
    ROW(UNSUPPORTED_FOR_MESSAGE_FORMAT, FINAL,
        "the broker's message format does not support the request"),
    ROW(POLICY_VIOLATION, FINAL, "a policy of the broker forbids it"),
    ROW(OUT_OF_ORDER_SEQUENCE_NUMBER, FINAL, "the sequence number is out of order"),
    ROW(DUPLICATE_SEQUENCE_NUMBER, FINAL, "the sequence number was seen before"),
    ROW(INVALID_PRODUCER_EPOCH, FINAL, "the producer's epoch is old"),
    ROW(INVALID_TXN_STATE, FINAL, "not possible in this state of the transaction"),
    ROW(INVALID_PRODUCER_ID_MAPPING, FINAL,
        "the producer id does not belong to this transactional id"),
    ROW(INVALID_TRANSACTION_TIMEOUT, FINAL,
        "the transaction timeout is larger than the broker allows"),
    ROW(CONCURRENT_TRANSACTIONS, RETRIABLE, "another operation on the transaction is going on"),
    ROW(TRANSACTION_COORDINATOR_FENCED, FINAL, "the transaction coordinator has been replaced"),
    ROW(TRANSACTIONAL_ID_AUTHORIZATION_FAILED, FINAL, "not authorized for the transactional id"),
    ROW(SECURITY_DISABLED, FINAL, "security is disabled on the broker"),
    ROW(OPERATION_NOT_ATTEMPTED, FINAL, "not tried, because another part of the request failed"),
    ROW(KAFKA_STORAGE_ERROR, STALE, "the broker's disk failed"),
    ROW(LOG_DIR_NOT_FOUND, FINAL, "the log directory is not one of the broker's"),
    ROW(SASL_AUTHENTICATION_FAILED, FINAL, "SASL authentication failed"),
    ROW(UNKNOWN_PRODUCER_ID, FINAL, "the broker has no state of this producer id (any more)"),
    ROW(REASSIGNMENT_IN_PROGRESS, FINAL, "a reassignment of the partition is going on"),
    ROW(DELEGATION_TOKEN_AUTH_DISABLED, FINAL, "delegation tokens are not enabled"),
    ROW(DELEGATION_TOKEN_NOT_FOUND, FINAL, "the delegation token was not found"),
    ROW(DELEGATION_TOKEN_OWNER_MISMATCH, FINAL,
        "the principal neither owns nor renews the delegation token"),
    ROW(DELEGATION_TOKEN_REQUEST_NOT_ALLOWED, FINAL,
        "delegation tokens cannot be asked for on this connection"),
    ROW(DELEGATION_TOKEN_AUTHORIZATION_FAILED, FINAL, "not authorized for the delegation token"),
    ROW(DELEGATION_TOKEN_EXPIRED, FINAL, "the delegation token has expired"),
    ROW(INVALID_PRINCIPAL_TYPE, FINAL, "the type of the principal is not supported"),
    ROW(NON_EMPTY_GROUP, FINAL, "the group is not empty"),
    ROW(GROUP_ID_NOT_FOUND, FINAL, "the group does not exist"),
    ROW(FETCH_SESSION_ID_NOT_FOUND, RETRIABLE, "the fetch session does not exist (any more)"),
    ROW(INVALID_FETCH_SESSION_EPOCH, RETRIABLE,
        "the fetch session's epoch is not the expected one"),
    ROW(LISTENER_NOT_FOUND, STALE, "the leader has no listener of the kind the request came in on"),
    ROW(TOPIC_DELETION_DISABLED, FINAL, "the deletion of topics is disabled"),
    ROW(FENCED_LEADER_EPOCH, STALE, "the leader epoch is older than the broker's"),
    ROW(UNKNOWN_LEADER_EPOCH, RETRIABLE, "the leader epoch is newer than the broker's"),
    ROW(UNSUPPORTED_COMPRESSION_TYPE, FINAL,
        "the request's version does not support the compression used"),
    ROW(STALE_BROKER_EPOCH, FINAL, "the broker's epoch has changed"),
    ROW(OFFSET_NOT_AVAILABLE, RETRIABLE, "the new leader's high watermark has not caught up yet"),
    ROW(MEMBER_ID_REQUIRED, FINAL, "join again with the member id that came with this answer"),
    ROW(PREFERRED_LEADER_NOT_AVAILABLE, STALE, "the preferred leader is not available"),
    ROW(GROUP_MAX_SIZE_REACHED, FINAL, "the group has as many members as it may have"),
    ROW(FENCED_INSTANCE_ID, FINAL, "another member has taken over this group.instance.id"),
    ROW(ELIGIBLE_LEADERS_NOT_AVAILABLE, STALE, "no replica that may lead is available"),
    ROW(ELECTION_NOT_NEEDED, STALE, "no election is needed"),
    ROW(NO_REASSIGNMENT_IN_PROGRESS, FINAL, "no reassignment is going on"),
    ROW(GROUP_SUBSCRIBED_TO_TOPIC, FINAL, "the group is subscribed to the topic"),
    ROW(INVALID_RECORD, FINAL, "a record failed the broker's validation"),
    ROW(UNSTABLE_OFFSET_COMMIT, RETRIABLE, "offsets of an open transaction are pending"),
    ROW(THROTTLING_QUOTA_EXCEEDED, RETRIABLE, "the quota is used up for the moment"),
    ROW(PRODUCER_FENCED, FINAL, "a newer producer uses this transactional id"),
    ROW(RESOURCE_NOT_FOUND, FINAL, "a resource named in the request does not exist"),
    ROW(DUPLICATE_RESOURCE, FINAL, "the request names a resource twice"),
    ROW(UNACCEPTABLE_CREDENTIAL, FINAL, "the credential is not acceptable"),
    ROW(INCONSISTENT_VOTER_SET, FINAL, "the voters differ between sender and receiver"),
    ROW(INVALID_UPDATE_VERSION, FINAL, "the version to update to is not valid"),
    ROW(FEATURE_UPDATE_FAILED, FINAL, "the features could not be updated"),
    ROW(PRINCIPAL_DESERIALIZATION_FAILURE, FINAL, "the forwarded principal could not be read"),
    ROW(SNAPSHOT_NOT_FOUND, FINAL, "the snapshot was not found"),
    ROW(POSITION_OUT_OF_RANGE, FINAL, "the position is outside of the snapshot"),
    ROW(UNKNOWN_TOPIC_ID, STALE, "the broker does not know this topic id"),
    ROW(DUPLICATE_BROKER_REGISTRATION, FINAL, "the broker id is in use"),
    ROW(BROKER_ID_NOT_REGISTERED, FINAL, "the broker id is not registered"),
    ROW(INCONSISTENT_TOPIC_ID, STALE, "the topic id is not that of the broker's log"),
    ROW(INCONSISTENT_CLUSTER_ID, FINAL, "the cluster id is another one"),
    ROW(TRANSACTIONAL_ID_NOT_FOUND, FINAL, "the transactional id was not found"),
    ROW(FETCH_SESSION_TOPIC_ID_ERROR, RETRIABLE, "the fetch session mixes topic ids and names"),
    ROW(INELIGIBLE_REPLICA, FINAL, "a replica in the new ISR is not eligible"),
    ROW(NEW_LEADER_ELECTED, FINAL, "done, but the leader has changed"),
    ROW(OFFSET_MOVED_TO_TIERED_STORAGE, FINAL, "the offset has moved to tiered storage"),
    ROW(FENCED_MEMBER_EPOCH, FINAL,
        "the member epoch is fenced; give up all partitions and join again"),
    ROW(UNRELEASED_INSTANCE_ID, FINAL, "another member still uses this group.instance.id"),
    ROW(UNSUPPORTED_ASSIGNOR, FINAL, "the group does not support the assignor"),
    ROW(STALE_MEMBER_EPOCH, FINAL,
        "the member epoch is old; retry with the one of the next heartbeat"),
    ROW(MISMATCHED_ENDPOINT_TYPE, FINAL, "the request was sent to an endpoint of the wrong type"),
    ROW(UNSUPPORTED_ENDPOINT_TYPE, FINAL, "the type of the endpoint is not supported"),
    ROW(UNKNOWN_CONTROLLER_ID, FINAL, "the controller id is not known"),
    ROW(UNKNOWN_SUBSCRIPTION_ID, FINAL, "the telemetry subscription is not known"),
    ROW(TELEMETRY_TOO_LARGE, FINAL, "the telemetry is larger than the broker allows"),
    ROW(INVALID_REGISTRATION, FINAL, "the controller refuses the registration"),
    ROW(TRANSACTION_ABORTABLE, FINAL, "the transaction has failed and can only be aborted"),
    ROW(INVALID_RECORD_STATE, FINAL, "not possible in this state of the record"),
    ROW(SHARE_SESSION_NOT_FOUND, RETRIABLE, "the share session was not found"),
    ROW(INVALID_SHARE_SESSION_EPOCH, RETRIABLE,
        "the share session's epoch is not the expected one"),
    ROW(FENCED_STATE_EPOCH, FINAL, "the state epoch of the share group is old"),
    ROW(INVALID_VOTER_KEY, FINAL, "the voter's key is not the receiver's"),
    ROW(DUPLICATE_VOTER, FINAL, "the voter is one already"),
    ROW(VOTER_NOT_FOUND, FINAL, "there is no such voter"),
};

static const struct error_row *row_of(int16_t code)
{
    static const struct error_row unknown = {"UNKNOWN", FINAL,
                                             "an error code that is not known here"};
    size_t index = (size_t)(code + 1);
    return index < ARRAY_LEN(rows) ? &rows[index] : &unknown;
}

const char *kafka_error_name(int16_t code)
{
    return row_of(code)->name;
}

const char *kafka_error_text(int16_t code)
{
    return row_of(code)->text;
}

bool kafka_error_is_retriable(int16_t code)
{
    return row_of(code)->class != FINAL;
}

bool kafka_error_is_stale_metadata(int16_t code)
{
    return row_of(code)->class == STALE;
}
