$ zkstudy story --scenario=S09 --seed=1 --set n=2 --set P=4 --set zookeeper.variant=documented --set drain=5s
# A broker goes and returns where members watch brokers: everybody rebalances, nothing moves.
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
[     0.392] m2   rebalance 1
[     0.473] m2   owns t/0 from -1
[     0.473] m2   owns t/1 from -1
[     0.473] m2   owns t/2 from -1
[     0.473] m2   owns t/3 from -1
[     0.473] m2   rebalance 1 done after 1
[     0.983] m1   starts as g_c1
[     0.987] m1   session 200000001000002 open
[     0.987] m1   connected to zk2
[     0.990] zk3  cause 2: join m1 g_c1
[     0.992] m2   rebalance 2
[     0.992] m2   gives up t/0 (release)
[     0.992] m2   gives up t/1 (release)
[     0.992] m2   gives up t/2 (release)
[     0.992] m2   gives up t/3 (release)
[     0.994] m1   rebalance 1
[     1.054] m1   cannot claim t/0: held by g_c2-0
[     1.059] m1   cannot claim t/1: held by g_c2-0
[     1.059] m1   attempt 0 fails: 2 of 2 claims met an owner node of another member
[     1.105] m2   owns t/2 from 19
[     1.105] m2   owns t/3 from 19
[     1.105] m2   rebalance 2 done after 1
[     3.171] m1   owns t/0 from 19
[     3.171] m1   owns t/1 from 19
[     3.171] m1   rebalance 1 done after 2
[    30.439] ctl  fault: crash b1
[    36.440] zk3  cause 3: broker 1
[    36.442] m2   rebalance 3
[    36.442] m2   gives up t/2 (release)
[    36.442] m2   gives up t/3 (release)
[    36.443] m1   rebalance 2
[    36.443] m1   gives up t/0 (release)
[    36.443] m1   gives up t/1 (release)
[    36.517] m2   owns t/2 from 728
[    36.517] m2   owns t/3 from 728
[    36.517] m2   rebalance 3 done after 1
[    36.520] m1   owns t/0 from 728
[    36.520] m1   owns t/1 from 608
[    36.520] m1   rebalance 2 done after 1
[    50.439] ctl  healed: crash b1
[    50.440] zk3  cause 4: broker 1
[    50.442] m1   rebalance 3
[    50.442] m1   gives up t/0 (release)
[    50.442] m1   gives up t/1 (release)
[    50.442] m2   rebalance 4
[    50.442] m2   gives up t/2 (release)
[    50.442] m2   gives up t/3 (release)
[    50.515] m1   owns t/0 from 1008
[    50.515] m1   owns t/1 from 608
[    50.515] m1   rebalance 3 done after 1
[    50.519] m2   owns t/2 from 1008
[    50.519] m2   owns t/3 from 1008
[    50.519] m2   rebalance 4 done after 1
[    80.000] ctl  fault: leader t
