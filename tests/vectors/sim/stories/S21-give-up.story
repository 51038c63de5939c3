$ zkstudy story --scenario=S21 --seed=1 --set n=1 --set P=4 --set run=60s --set drain=5s --set heal=1s
# The owner takes 7 s to stop, longer than four attempts: the claimant gives up for ever.
[     0.000] zk3  is leading, epoch 1
[     0.000] zk1  is following, epoch 0
[     0.000] zk2  is following, epoch 0
[     0.002] zk3  is leading, epoch 1
[     0.002] zk2  is following, epoch 1
[     0.003] zk1  is following, epoch 1
[     0.983] m1   starts as g_a1b965f4-0
[     0.987] m1   session 200000001000001 open
[     0.987] m1   connected to zk2
[     1.000] zk3  cause 1: join m1 g_a1b965f4-0
[     1.004] m1   rebalance 1
[     1.090] m1   owns t/0 from -1
[     1.090] m1   owns t/1 from -1
[     1.090] m1   owns t/2 from -1
[     1.090] m1   owns t/3 from -1
[     1.090] m1   rebalance 1 done after 1
[    25.000] ctl  fault: slow_stop m1
[    31.280] m2   starts as g_658eec67-1
[    31.280] ctl  fault: join m2
[    31.284] m2   session 100000001000001 open
[    31.284] m2   connected to zk1
[    31.286] zk3  cause 2: join m2 g_658eec67-1
[    31.289] m1   rebalance 2
[    31.290] m2   rebalance 1
[    31.297] m1   gives up t/0 (release)
[    31.297] m1   gives up t/1 (release)
[    31.297] m1   gives up t/2 (release)
[    31.297] m1   gives up t/3 (release)
[    31.356] m2   cannot claim t/0: held by g_a1b965f4-0-0
[    31.360] m2   cannot claim t/1: held by g_a1b965f4-0-0
[    31.360] m2   attempt 0 fails: 2 of 2 claims met an owner node of another member
[    33.477] m2   cannot claim t/0: held by g_a1b965f4-0-0
[    33.480] m2   cannot claim t/1: held by g_a1b965f4-0-0
[    33.480] m2   attempt 1 fails: 2 of 2 claims met an owner node of another member
[    35.597] m2   cannot claim t/0: held by g_a1b965f4-0-0
[    35.600] m2   cannot claim t/1: held by g_a1b965f4-0-0
[    35.600] m2   attempt 2 fails: 2 of 2 claims met an owner node of another member
[    37.716] m2   cannot claim t/0: held by g_a1b965f4-0-0
[    37.719] m2   cannot claim t/1: held by g_a1b965f4-0-0
[    37.719] m2   attempt 3 fails: 2 of 2 claims met an owner node of another member
[    38.355] m1   owns t/2 from 625
[    38.355] m1   owns t/3 from 625
[    38.355] m1   rebalance 2 done after 1
[    39.769] m2   rebalance 1 given up after 4
[    60.000] ctl  healed: slow_stop m1
