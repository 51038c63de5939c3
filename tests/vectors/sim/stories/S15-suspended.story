$ zkstudy story --scenario=S15 --seed=1 --set n=2 --set P=4 --set run=60s --set drain=5s
# A member stands still for two sessions. On resuming it goes on with partitions that are
# another's until it hears of it, and its late commit is taken.
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
[    30.439] m1   stands still
[    30.439] ctl  fault: suspend m1
[    38.818] m1   session 200000001000002 expire
[    38.818] zk3  cause 3: expire m1 g_c1
[    38.821] m2   rebalance 3
[    38.828] m2   gives up t/2 (release)
[    38.828] m2   gives up t/3 (release)
[    38.908] m2   owns t/0 from 519
[    38.908] m2   owns t/1 from 519
[    38.908] m2   owns t/2 from 776
[    38.908] m2   owns t/3 from 776
[    38.908] m2   rebalance 3 done after 1
[    42.439] m1   goes on
[    42.439] ctl  healed: suspend m1
[    42.439] m1   disconnected
[    42.449] m1   expired
[    42.458] m1   session 100000001000001 open
[    42.458] m1   connected to zk1
[    42.460] zk3  cause 4: join m1 g_c1
[    42.461] m1   rebalance 2
[    42.462] m2   rebalance 4
[    42.469] m2   gives up t/0 (release)
[    42.469] m2   gives up t/1 (release)
[    42.469] m2   gives up t/2 (release)
[    42.469] m2   gives up t/3 (release)
[    42.471] m1   gives up t/0 (lost)
[    42.471] m1   gives up t/1 (lost)
[    42.531] m1   cannot claim t/0: held by g_c2-0
[    42.534] m1   cannot claim t/1: exists
[    42.534] m1   attempt 0 fails: 2 of 2 claims met an owner node of another member
[    42.551] m2   owns t/2 from 849
[    42.551] m2   owns t/3 from 849
[    42.551] m2   rebalance 4 done after 1
[    44.651] m1   owns t/0 from 849
[    44.651] m1   owns t/1 from 849
[    44.651] m1   rebalance 2 done after 2
[    44.653] m1   rebalance 3
[    44.661] m1   gives up t/0 (release)
[    44.661] m1   gives up t/1 (release)
[    44.732] m1   owns t/0 from 893
[    44.732] m1   owns t/1 from 893
[    44.732] m1   rebalance 3 done after 1
[    44.732] m1   rebalance 4
[    44.740] m1   gives up t/0 (release)
[    44.740] m1   gives up t/1 (release)
[    44.814] m1   owns t/0 from 894
[    44.814] m1   owns t/1 from 894
[    44.814] m1   rebalance 4 done after 1
