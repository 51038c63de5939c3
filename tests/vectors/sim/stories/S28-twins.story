$ zkstudy story --scenario=S28 --seed=1 --set run=40s --set drain=5s
# Two under one consumer id: the second waits for the first's node.
[     0.000] zk3  is leading, epoch 1
[     0.000] zk1  is following, epoch 0
[     0.000] zk2  is following, epoch 0
[     0.002] zk3  is leading, epoch 1
[     0.002] zk2  is following, epoch 1
[     0.003] zk1  is following, epoch 1
[     0.371] m2   starts as g_twin
[     0.374] m2   session 300000001000001 open
[     0.374] m2   connected to zk3
[     0.385] zk3  cause 1: join m2 g_twin
[     0.388] m2   rebalance 1
[     0.472] m2   owns t/0 from -1
[     0.472] m2   owns t/1 from -1
[     0.472] m2   owns t/2 from -1
[     0.472] m2   owns t/3 from -1
[     0.472] m2   rebalance 1 done after 1
[     0.983] m1   starts as g_twin
[     0.987] m1   session 300000001000002 open
[     0.987] m1   connected to zk3
