$ zkstudy story --scenario=S33 --seed=29
# Faults drawn from the seed; this one failed once (tests/sim/failed_seeds).
[     0.000] zk3  is leading, epoch 1
[     0.000] zk1  is following, epoch 0
[     0.000] zk2  is following, epoch 0
[     0.002] zk3  is leading, epoch 1
[     0.002] zk1  is following, epoch 1
[     0.002] zk2  is following, epoch 1
[     0.054] m2   starts as g_c2
[     0.058] m2   session 200000001000001 open
[     0.058] m2   connected to zk2
[     0.072] zk3  cause 1: join m2 g_c2
[     0.074] m2   rebalance 1
[     0.168] m2   owns t/0 from -1
[     0.168] m2   owns t/1 from -1
[     0.168] m2   owns t/2 from -1
[     0.168] m2   owns t/3 from -1
[     0.168] m2   owns t/4 from -1
[     0.168] m2   owns t/5 from -1
[     0.168] m2   rebalance 1 done after 1
[     0.383] m1   starts as g_c1
[     0.387] m1   session 100000001000001 open
[     0.387] m1   connected to zk1
[     0.389] zk3  cause 2: join m1 g_c1
[     0.392] m2   rebalance 2
[     0.392] m1   rebalance 1
[     0.399] m2   gives up t/0 (release)
[     0.399] m2   gives up t/1 (release)
[     0.399] m2   gives up t/2 (release)
[     0.399] m2   gives up t/3 (release)
[     0.399] m2   gives up t/4 (release)
[     0.399] m2   gives up t/5 (release)
[     0.462] m1   cannot claim t/0: held by g_c2-0
[     0.467] m1   cannot claim t/1: held by g_c2-0
[     0.471] m1   cannot claim t/2: held by g_c2-0
[     0.471] m1   attempt 0 fails: 3 of 3 claims met an owner node of another member
[     0.534] m2   owns t/3 from 7
[     0.534] m2   owns t/4 from 7
[     0.534] m2   owns t/5 from 7
[     0.534] m2   rebalance 2 done after 1
[     0.671] m4   starts as g_c4
[     0.674] m4   session 300000001000001 open
[     0.674] m4   connected to zk3
[     0.676] zk3  cause 3: join m4 g_c4
[     0.678] m2   rebalance 3
[     0.679] m4   rebalance 1
[     0.685] m2   gives up t/3 (release)
[     0.685] m2   gives up t/4 (release)
[     0.685] m2   gives up t/5 (release)
[     0.745] m4   cannot claim t/4: held by g_c2-0
[     0.748] m4   cannot claim t/5: held by g_c2-0
[     0.748] m4   attempt 0 fails: 2 of 2 claims met an owner node of another member
[     0.763] m2   owns t/2 from 7
[     0.763] m2   owns t/3 from 13
[     0.763] m2   rebalance 3 done after 1
[     0.958] m3   starts as g_c3
[     0.961] m3   session 300000001000002 open
[     0.961] m3   connected to zk3
[     0.962] zk3  cause 4: join m3 g_c3
[     0.964] m2   rebalance 4
[     0.965] m3   rebalance 1
[     0.971] m2   gives up t/2 (release)
[     0.971] m2   gives up t/3 (release)
[     1.033] m3   owns t/4 from 13
[     1.033] m3   rebalance 1 done after 1
[     1.045] m2   owns t/2 from 19
[     1.045] m2   owns t/3 from 19
[     1.045] m2   rebalance 4 done after 1
[     2.592] m1   owns t/0 from 7
[     2.592] m1   owns t/1 from 7
[     2.592] m1   rebalance 1 done after 2
[     2.592] m1   rebalance 2
[     2.599] m1   gives up t/0 (release)
[     2.599] m1   gives up t/1 (release)
[     2.674] m1   owns t/0 from 48
[     2.674] m1   owns t/1 from 7
[     2.674] m1   rebalance 2 done after 1
[     2.674] m1   rebalance 3
[     2.682] m1   gives up t/0 (release)
[     2.682] m1   gives up t/1 (release)
[     2.757] m1   owns t/0 from 53
[     2.757] m1   owns t/1 from 53
[     2.757] m1   rebalance 3 done after 1
[     2.864] m4   owns t/5 from 13
[     2.864] m4   rebalance 1 done after 2
[     2.864] m4   rebalance 2
[     2.872] m4   gives up t/5 (release)
[     2.935] m4   owns t/5 from 57
[     2.935] m4   rebalance 2 done after 1
[    64.982] m4   is dead
[    64.982] ctl  fault: crash m4
[    65.123] ctl  fault: partitions t
[    65.124] zk3  cause 5: partitions t
[    65.126] m3   rebalance 2
[    65.126] m2   rebalance 5
[    65.126] m1   rebalance 4
[    65.132] m2   gives up t/2 (release)
[    65.132] m2   gives up t/3 (release)
[    65.133] m1   gives up t/0 (release)
[    65.133] m1   gives up t/1 (release)
[    65.133] m3   gives up t/4 (release)
[    65.203] m3   cannot claim t/5: held by g_c4-0
[    65.206] m3   attempt 0 fails: 1 of 2 claims met an owner node of another member
[    65.209] m2   owns t/2 from 1302
[    65.209] m2   owns t/3 from 1302
[    65.209] m2   rebalance 5 done after 1
[    65.210] m1   owns t/0 from 1302
[    65.210] m1   owns t/1 from 1302
[    65.210] m1   rebalance 4 done after 1
[    67.327] m3   cannot claim t/5: held by g_c4-0
[    67.329] m3   attempt 1 fails: 1 of 2 claims met an owner node of another member
[    69.371] m4   starts as g_c4_2
[    69.371] ctl  healed: crash m4
[    69.374] m4   session 200000001000002 open
[    69.374] m4   connected to zk2
[    69.376] zk3  cause 6: join m4 g_c4_2
[    69.378] m1   rebalance 5
[    69.379] m2   rebalance 6
[    69.379] m4   rebalance 1
[    69.386] m1   gives up t/0 (release)
[    69.386] m1   gives up t/1 (release)
[    69.386] m2   gives up t/2 (release)
[    69.386] m2   gives up t/3 (release)
[    69.448] m4   owns t/7 from -1
[    69.448] m4   rebalance 1 done after 1
[    69.452] m3   cannot claim t/5: held by g_c4-0
[    69.454] m3   attempt 2 fails: 1 of 2 claims met an owner node of another member
[    69.461] m1   owns t/0 from 1387
[    69.461] m1   owns t/1 from 1387
[    69.461] m1   rebalance 5 done after 1
[    69.464] m2   owns t/2 from 1387
[    69.464] m2   owns t/3 from 1387
[    69.464] m2   rebalance 6 done after 1
[    71.577] m3   cannot claim t/5: held by g_c4-0
[    71.579] m3   attempt 3 fails: 1 of 2 claims met an owner node of another member
[    71.986] m4   session 300000001000001 expire
[    71.986] zk3  cause 7: expire m4 g_c4
[    71.988] m2   rebalance 7
[    71.988] m4   rebalance 2
[    71.988] m1   rebalance 6
[    71.995] m2   gives up t/2 (release)
[    71.995] m2   gives up t/3 (release)
[    71.996] m4   gives up t/7 (release)
[    71.996] m1   gives up t/0 (release)
[    71.996] m1   gives up t/1 (release)
[    72.072] m2   owns t/2 from 1439
[    72.072] m2   owns t/3 from 1439
[    72.072] m2   rebalance 7 done after 1
[    72.073] m4   owns t/6 from -1
[    72.073] m4   owns t/7 from 137
[    72.073] m4   rebalance 2 done after 1
[    72.075] m1   owns t/0 from 1439
[    72.075] m1   owns t/1 from 1439
[    72.075] m1   rebalance 6 done after 1
[    73.629] m3   rebalance 2 given up after 4
[    73.629] m3   rebalance 3
[    73.699] m3   owns t/4 from 1302
[    73.699] m3   owns t/5 from 1213
[    73.699] m3   rebalance 3 done after 1
[    76.765] ctl  fault: suspend zk3
[    79.963] m3   disconnected
[    82.380] m4   disconnected
[    83.056] m2   disconnected
[    83.387] m1   disconnected
[    85.984] zk2  is looking, epoch 1
[    85.984] zk1  is looking, epoch 1
[    86.220] zk2  is leading, epoch 2
[    86.240] zk1  is following, epoch 1
[    86.243] zk2  is leading, epoch 2
[    86.243] zk1  is following, epoch 2
[    89.082] m1   connected to zk2
[    89.095] m4   connected to zk2
[    89.157] m3   connected to zk2
[    89.183] m2   connected to zk2
[    93.971] zk2  is down, epoch 2
[    93.971] ctl  fault: crash zk2
[    93.971] m4   disconnected
[    93.971] zk1  is looking, epoch 2
[    93.971] m3   disconnected
[    93.971] m2   disconnected
[    93.971] m1   disconnected
[    96.735] ctl  healed: suspend zk3
[    97.984] zk3  is looking, epoch 1
[    98.380] zk1  is leading, epoch 3
[    98.400] zk3  is following, epoch 1
[    98.403] zk1  is leading, epoch 3
[    98.403] zk3  is following, epoch 3
[    98.561] m1   connected to zk1
[    98.906] m4   connected to zk1
[    99.035] m2   connected to zk1
[    99.190] m3   connected to zk1
[   112.611] zk2  is looking, epoch 2
[   112.611] ctl  healed: crash zk2
[   112.631] zk2  is following, epoch 2
[   112.633] zk2  is following, epoch 3
