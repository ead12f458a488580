// A connecting rod, in millimetres: a big end with a bore of 40 about the origin, a small end with a bore of 18
// about (120, 0), and between them a shank with the section of an I. Symmetric about z = 0.
// Blocks: rod. Side sets: big_bore, small_bore, big_end, small_end (the outer faces about the bores), front, back.
distance = 120;
big_inner = 20;
big_outer = 31;
small_inner = 9;
small_outer = 16;
web_big = 8;       // half heights of the web, and of web and flanges, where the shank meets the ends
shank_big = 14;
web_small = 4.5;
shank_small = 8;
half_web = 3;      // half thickness of the web
half_rod = 9;      // and of the ends and flanges

n_radius = 4;
n_web = 6;         // elements over the height of the web
n_flange = 2;      // of a flange
n_length = 26;     // along the shank
n_side = 8;        // along the arcs beside the shank
n_back = 10;       // along the arcs of a quarter circle
n_half_web = 3;    // over the thickness of the web
n_half_rod = 2;    // above it, and below

z = -half_web;

// An end: points on two circles at the heights y = +-shank, +-web, then at three quarter circles. `sign` is
// the direction of the shank, +1 or -1. Leaves the surfaces in `sectors` and the outer arcs in `arcs`.
Macro End
  heights[] = {-shank, -web, web, shank};
  centre_point = newp;
  Point(centre_point) = {centre, 0, z};
  inner_points[] = {};
  outer_points[] = {};
  For k In {0 : 6}
    If (k < 4)
      angle = Asin(heights[k] / outer);
    Else
      angle = (k - 3) * Pi / 2;
    EndIf
    p = newp;
    Point(p) = {centre + sign * inner * Cos(angle), inner * Sin(angle), z};
    inner_points[] += p;
    p = newp;
    Point(p) = {centre + sign * outer * Cos(angle), outer * Sin(angle), z};
    outer_points[] += p;
  EndFor
  radii[] = {};
  For k In {0 : 6}
    c = newl;
    Line(c) = {inner_points[k], outer_points[k]};
    Transfinite Curve{c} = n_radius + 1;
    radii[] += c;
  EndFor
  arcs[] = {};
  inner_arcs[] = {};
  sectors[] = {};
  numbers[] = {n_flange, n_web, n_flange, n_side, n_back, n_back, n_side};
  For k In {0 : 6}
    next = (k + 1) % 7;
    c = newl;
    Circle(c) = {inner_points[k], centre_point, inner_points[next]};
    Transfinite Curve{c} = numbers[k] + 1;
    inner_arcs[] += c;
    c = newl;
    Circle(c) = {outer_points[k], centre_point, outer_points[next]};
    Transfinite Curve{c} = numbers[k] + 1;
    arcs[] += c;
    loop = newll;
    Curve Loop(loop) = {radii[k], arcs[k], -radii[next], -inner_arcs[k]};
    s = news;
    Plane Surface(s) = {loop};
    Transfinite Surface{s} = {inner_points[k], outer_points[k], outer_points[next], inner_points[next]};
    Recombine Surface{s};
    sectors[] += s;
  EndFor
Return

centre = 0;
inner = big_inner;
outer = big_outer;
web = web_big;
shank = shank_big;
sign = 1;
Call End;
big_sectors[] = sectors[];
big_arcs[] = arcs[];
big_points[] = outer_points[];

centre = distance;
inner = small_inner;
outer = small_outer;
web = web_small;
shank = shank_small;
sign = -1;
Call End;
small_sectors[] = sectors[];
small_arcs[] = arcs[];
small_points[] = outer_points[];

// The shank: flange, web, flange between the ends.
lengthwise[] = {};
For k In {0 : 3}
  c = newl;
  Line(c) = {big_points[k], small_points[k]};
  Transfinite Curve{c} = n_length + 1;
  lengthwise[] += c;
EndFor
strips[] = {};
For k In {0 : 2}
  loop = newll;
  Curve Loop(loop) = {lengthwise[k], small_arcs[k], -lengthwise[k + 1], -big_arcs[k]};
  s = news;
  Plane Surface(s) = {loop};
  Transfinite Surface{s} = {big_points[k], small_points[k], small_points[k + 1], big_points[k + 1]};
  Recombine Surface{s};
  strips[] += s;
EndFor

// Everything is as thick as the web; ends and flanges go on above and below it.
volumes[] = {};
thick[] = {big_sectors[], small_sectors[], strips[0], strips[2]};
web_solid[] = Extrude {0, 0, 2 * half_web} { Surface{strips[1]}; Layers{n_half_web}; Recombine; };
volumes[] += web_solid[1];
For k In {0 : #thick[] - 1}
  middle[] = Extrude {0, 0, 2 * half_web} { Surface{thick[k]}; Layers{n_half_web}; Recombine; };
  upper[] = Extrude {0, 0, half_rod - half_web} { Surface{middle[0]}; Layers{n_half_rod}; Recombine; };
  lower[] = Extrude {0, 0, half_web - half_rod} { Surface{thick[k]}; Layers{n_half_rod}; Recombine; };
  volumes[] += {middle[1], upper[1], lower[1]};
EndFor

// Sets, by where the faces lie: a box about a bore holds no other curved face.
e = 1e-3;
skin[] = CombinedBoundary { Volume{volumes[]}; };
front[] = Surface In BoundingBox {-2 * big_outer, -2 * big_outer, half_rod - e, 2 * distance, 2 * big_outer, half_rod + e};
back[] = Surface In BoundingBox {-2 * big_outer, -2 * big_outer, -half_rod - e, 2 * distance, 2 * big_outer, -half_rod + e};
r = big_inner + e;
big_bore[] = {};
small_bore[] = {};
big_end[] = {};
small_end[] = {};
For k In {0 : #skin[] - 1}
  s = Fabs(skin[k]);
  b[] = BoundingBox Surface{s};
  // Upright faces of the ends: both corners of the box in plan are at most as far from the axis as the radius.
  If (b[5] - b[2] > e)
    x = (b[0] + b[3]) / 2;
    far_big = Max(Fabs(b[0]), Fabs(b[3]));
    far_small = Max(Fabs(b[0] - distance), Fabs(b[3] - distance));
    high = Max(Fabs(b[1]), Fabs(b[4]));
    If (far_big < big_inner + e && high < big_inner + e)
      big_bore[] += s;
    ElseIf (far_small < small_inner + e && high < small_inner + e)
      small_bore[] += s;
    ElseIf (x < big_outer && far_big < big_outer + e)
      big_end[] += s;
    ElseIf (x > distance - small_outer && far_small < small_outer + e)
      small_end[] += s;
    EndIf
  EndIf
EndFor

Physical Volume("rod", 1) = {volumes[]};
Physical Surface("big_bore", 1) = {big_bore[]};
Physical Surface("small_bore", 2) = {small_bore[]};
Physical Surface("big_end", 3) = {big_end[]};
Physical Surface("small_end", 4) = {small_end[]};
Physical Surface("front", 5) = {front[]};
Physical Surface("back", 6) = {back[]};
