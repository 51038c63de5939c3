$ zkstudy story --scenario=S18 --seed=1 --set n=2 --set P=4 --set 'fault.1=at 30s cut m1 zk* both for 15s' --set run=60s --set drain=5s
# Cut from ZooKeeper and not from the brokers: two members deliver the same partitions.
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
[    30.000] ctl  fault: cut m1 - zk* both
[    33.986] m1   disconnected
[    38.818] m1   session 200000001000002 expire
[    38.818] zk3  cause 3: expire m1 g_c1
[    38.820] m2   rebalance 3
[    38.827] m2   gives up t/2 (release)
[    38.827] m2   gives up t/3 (release)
[    38.906] m2   owns t/0 from 519
[    38.906] m2   owns t/1 from 519
[    38.906] m2   owns t/2 from 776
[    38.906] m2   owns t/3 from 776
[    38.906] m2   rebalance 3 done after 1
[    45.000] ctl  healed: cut m1 - zk* both
[    45.000] m1   expired
[    45.008] m1   session 300000001000001 open
[    45.008] m1   connected to zk3
[    45.009] zk3  cause 4: join m1 g_c1
[    45.010] m1   rebalance 2
[    45.012] m2   rebalance 4
[    45.018] m2   gives up t/0 (release)
[    45.018] m2   gives up t/1 (release)
[    45.018] m2   gives up t/2 (release)
[    45.018] m2   gives up t/3 (release)
[    45.020] m1   gives up t/0 (lost)
[    45.020] m1   gives up t/1 (lost)
[    45.079] m1   cannot claim t/0: held by g_c2-0
[    45.082] m1   cannot claim t/1: held by g_c2-0
[    45.082] m1   attempt 0 fails: 2 of 2 claims met an owner node of another member
[    45.101] m2   owns t/2 from 900
[    45.101] m2   owns t/3 from 900
[    45.101] m2   rebalance 4 done after 1
[    47.198] m1   owns t/0 from 900
[    47.198] m1   owns t/1 from 900
[    47.198] m1   rebalance 2 done after 2
[    47.200] m1   rebalance 3
[    47.206] m1   gives up t/0 (release)
[    47.206] m1   gives up t/1 (release)
[    47.277] m1   owns t/0 from 944
[    47.277] m1   owns t/1 from 944
[    47.277] m1   rebalance 3 done after 1
[    47.277] m1   rebalance 4
[    47.284] m1   gives up t/0 (release)
[    47.284] m1   gives up t/1 (release)
[    47.354] m1   owns t/0 from 945
[    47.354] m1   owns t/1 from 945
[    47.354] m1   rebalance 4 done after 1
