$ zkstudy story --scenario=S19 --seed=1 --set n=2 --set P=4 --set run=60s --set drain=5s
# Cut from the brokers and not from ZooKeeper: nothing is delivered and nobody is told.
[     0.000] zk3  is leading, epoch 1
[     0.000] zk1  is following, epoch 0
[     0.000] zk2  is following, epoch 0
[     0.002] zk3  is leading, epoch 1
[     0.002] zk2  is following, epoch 1
[     0.003] zk1  is following, epoch 1
[     0.371] m2   starts as g_c2
[     0.374] m2   session 200000001000001 open
[     0.374] m2   connected to zk2
[     0.387] zk3  cause 1: join m2 g_c2
[     0.391] m2   rebalance 1
[     0.477] m2   owns t/0 from -1
[     0.477] m2   owns t/1 from -1
[     0.477] m2   owns t/2 from -1
[     0.477] m2   owns t/3 from -1
[     0.477] m2   rebalance 1 done after 1
[     0.983] m1   starts as g_c1
[     0.987] m1   session 200000001000002 open
[     0.987] m1   connected to zk2
[     0.990] zk3  cause 2: join m1 g_c1
[     0.992] m2   rebalance 2
[     0.993] m1   rebalance 1
[     0.999] m2   gives up t/0 (release)
[     0.999] m2   gives up t/1 (release)
[     0.999] m2   gives up t/2 (release)
[     0.999] m2   gives up t/3 (release)
[     1.061] m1   cannot claim t/0: held by g_c2-0
[     1.066] m1   cannot claim t/1: held by g_c2-0
[     1.066] m1   attempt 0 fails: 2 of 2 claims met an owner node of another member
[     1.110] m2   owns t/2 from 19
[     1.110] m2   owns t/3 from 19
[     1.110] m2   rebalance 2 done after 1
[     3.185] m1   owns t/0 from 19
[     3.185] m1   owns t/1 from 19
[     3.185] m1   rebalance 1 done after 2
[    30.439] ctl  fault: cut m1 - b* both
[    50.439] ctl  healed: cut m1 - b* both
