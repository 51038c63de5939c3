$ zkstudy story --scenario=S02 --seed=1 --set n=2 --set late=2 --set P=4 --set run=45s --set drain=5s
# Two join two within 100 ms: one herd, not two, where a watch fires while a rebalance runs.
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
[    30.007] m3   starts as g_0bfc1e42-2
[    30.007] ctl  fault: join m3
[    30.010] m3   session 300000001000001 open
[    30.010] m3   connected to zk3
[    30.012] zk3  cause 3: join m3 g_0bfc1e42-2
[    30.014] m1   rebalance 2
[    30.014] m2   rebalance 3
[    30.014] m3   rebalance 1
[    30.021] m1   gives up t/2 (release)
[    30.021] m1   gives up t/3 (release)
[    30.021] m4   starts as g_7b81a989-3
[    30.021] ctl  fault: join m4
[    30.021] m2   gives up t/0 (release)
[    30.021] m2   gives up t/1 (release)
[    30.023] m4   session 300000001000002 open
[    30.023] m4   connected to zk3
[    30.026] zk3  cause 4: join m4 g_7b81a989-3
[    30.028] m4   rebalance 1
[    30.082] m3   owns t/0 from 600
[    30.082] m3   rebalance 1 done after 1
[    30.082] m3   rebalance 2
[    30.091] m3   gives up t/0 (release)
[    30.093] m1   owns t/3 from 600
[    30.093] m1   rebalance 2 done after 1
[    30.093] m1   rebalance 3
[    30.094] m2   owns t/1 from 600
[    30.094] m2   rebalance 3 done after 1
[    30.094] m2   rebalance 4
[    30.096] m4   owns t/2 from 600
[    30.096] m4   rebalance 1 done after 1
[    30.101] m2   gives up t/1 (release)
[    30.101] m1   gives up t/3 (release)
[    30.155] m3   owns t/0 from 601
[    30.155] m3   rebalance 2 done after 1
[    30.168] m2   owns t/1 from 602
[    30.168] m2   rebalance 4 done after 1
[    30.169] m1   owns t/3 from 602
[    30.169] m1   rebalance 3 done after 1
