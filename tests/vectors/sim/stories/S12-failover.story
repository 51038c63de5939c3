$ zkstudy story --scenario=S12 --seed=1 --set n=2 --set P=4 --set run=60s --set drain=5s
# A member joins, and the ensemble's leader is killed: sessions survive.
[     0.000] zk3  is leading, epoch 1
[     0.000] zk1  is following, epoch 0
[     0.000] zk2  is following, epoch 0
[     0.002] zk3  is leading, epoch 1
[     0.002] zk2  is following, epoch 1
[     0.003] zk1  is following, epoch 1
[     0.371] m2   starts as g_658eec67-1
[     0.374] m2   session 100000001000001 open
[     0.374] m2   connected to zk1
[     0.388] zk3  cause 1: join m2 g_658eec67-1
[     0.391] m2   rebalance 1
[     0.477] m2   owns t/0 from -1
[     0.477] m2   owns t/1 from -1
[     0.477] m2   owns t/2 from -1
[     0.477] m2   owns t/3 from -1
[     0.477] m2   rebalance 1 done after 1
[     0.983] m1   starts as g_a1b965f4-0
[     0.987] m1   session 200000001000001 open
[     0.987] m1   connected to zk2
[     0.990] zk3  cause 2: join m1 g_a1b965f4-0
[     0.992] m2   rebalance 2
[     0.993] m1   rebalance 1
[     1.000] m2   gives up t/0 (release)
[     1.000] m2   gives up t/1 (release)
[     1.000] m2   gives up t/2 (release)
[     1.000] m2   gives up t/3 (release)
[     1.061] m1   cannot claim t/2: held by g_658eec67-1-0
[     1.064] m1   cannot claim t/3: held by g_658eec67-1-0
[     1.064] m1   attempt 0 fails: 2 of 2 claims met an owner node of another member
[     1.112] m2   owns t/0 from 20
[     1.112] m2   owns t/1 from 20
[     1.112] m2   rebalance 2 done after 1
[     3.184] m1   owns t/2 from 20
[     3.184] m1   owns t/3 from 20
[     3.184] m1   rebalance 1 done after 2
[    30.000] m3   starts as g_0bfc1e42-2
[    30.000] ctl  fault: join m3
[    30.003] m3   session 300000001000001 open
[    30.003] m3   connected to zk3
[    30.005] zk3  cause 3: join m3 g_0bfc1e42-2
[    30.007] m1   rebalance 2
[    30.007] m2   rebalance 3
[    30.008] m3   rebalance 1
[    30.014] m1   gives up t/2 (release)
[    30.014] m1   gives up t/3 (release)
[    30.014] m2   gives up t/0 (release)
[    30.014] m2   gives up t/1 (release)
[    30.077] m3   owns t/0 from 600
[    30.077] m3   owns t/1 from 600
[    30.077] m3   rebalance 1 done after 1
[    30.085] m1   owns t/3 from 600
[    30.085] m1   rebalance 2 done after 1
[    30.087] m2   owns t/2 from 600
[    30.087] m2   rebalance 3 done after 1
[    30.640] zk3  is down, epoch 1
[    30.640] ctl  fault: crash zk3
[    30.640] zk2  is looking, epoch 1
[    30.640] m3   disconnected
[    30.640] zk1  is looking, epoch 1
[    30.640] m2   disconnected
[    30.641] m1   disconnected
[    30.847] zk2  is leading, epoch 2
[    30.867] zk1  is following, epoch 1
[    30.870] zk2  is leading, epoch 2
[    30.870] zk1  is following, epoch 2
[    30.903] m1   connected to zk1
[    30.911] m3   connected to zk1
[    30.931] m2   connected to zk2
[    50.640] zk3  is looking, epoch 1
[    50.640] ctl  healed: crash zk3
[    50.660] zk3  is following, epoch 1
[    50.662] zk3  is following, epoch 2
