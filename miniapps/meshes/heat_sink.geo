// A heat sink, in millimetres: a plate of 60 x 60 x 6 with nine fins, each 2.4 thick and 24 high, along y.
// Blocks: plate, fins. Side sets: base (below), cooled (above and the fins), ends (y = 0 and y = 60).
width_of_fin = 2.4;
width_of_gap = 4.8;
fins = 9;
height_of_plate = 6;
height_of_fin = 24;
depth = 60;

n_fin = 2;      // elements across a fin
n_gap = 3;      // across a gap
n_plate = 3;    // over the height of the plate
n_height = 10;  // over the height of a fin
n_depth = 20;   // along a fin

// The profile in the plane y = 0: the left edge of the plate is swept to the right, column after column, and
// the top of every second column upwards.
Point(1) = {0, 0, 0};
edge[] = Extrude {0, 0, height_of_plate} { Point{1}; Layers{n_plate}; };
left = edge[1];
plate[] = {};
fin[] = {};
For column In {0 : 2 * fins - 2}
  If (column % 2 == 0)
    next[] = Extrude {width_of_fin, 0, 0} { Curve{left}; Layers{n_fin}; Recombine; };
    up[] = Extrude {0, 0, height_of_fin} { Curve{next[2]}; Layers{n_height}; Recombine; };
    fin[] += up[1];
  Else
    next[] = Extrude {width_of_gap, 0, 0} { Curve{left}; Layers{n_gap}; Recombine; };
  EndIf
  plate[] += next[1];
  left = next[0];
EndFor

// The solid: the profile swept along y.
volumes_of_plate[] = {};
volumes_of_fins[] = {};
ends[] = {plate[], fin[]};
For k In {0 : #plate[] - 1}
  solid[] = Extrude {0, depth, 0} { Surface{plate[k]}; Layers{n_depth}; Recombine; };
  ends[] += solid[0];
  volumes_of_plate[] += solid[1];
EndFor
For k In {0 : #fin[] - 1}
  solid[] = Extrude {0, depth, 0} { Surface{fin[k]}; Layers{n_depth}; Recombine; };
  ends[] += solid[0];
  volumes_of_fins[] += solid[1];
EndFor

total = fins * width_of_fin + (fins - 1) * width_of_gap;
top = height_of_plate + height_of_fin;
e = 1e-3;
base[] = Surface In BoundingBox {-e, -e, -e, total + e, depth + e, e};
inner[] = {};  // where fins stand on the plate
For k In {0 : fins - 1}
  x = k * (width_of_fin + width_of_gap);
  inner[] += Surface In BoundingBox {x - e, -e, height_of_plate - e, x + width_of_fin + e, depth + e, height_of_plate + e};
EndFor
others[] = {base[], ends[], inner[]};
skin[] = CombinedBoundary { Volume{volumes_of_plate[], volumes_of_fins[]}; };
cooled[] = {};
For k In {0 : #skin[] - 1}
  s = Fabs(skin[k]);
  is_other = 0;
  For l In {0 : #others[] - 1}
    If (others[l] == s)
      is_other = 1;
    EndIf
  EndFor
  If (is_other == 0)
    cooled[] += s;
  EndIf
EndFor

Physical Volume("plate", 1) = {volumes_of_plate[]};
Physical Volume("fins", 2) = {volumes_of_fins[]};
Physical Surface("base", 1) = {base[]};
Physical Surface("cooled", 2) = {cooled[]};
Physical Surface("ends", 3) = {ends[]};
