// A flanged bracket, in millimetres: a plate of 100 x 80 x 10 with four bolt holes, a hub with a bore of 28 in its
// middle, 40 high, and two ribs from the hub to the ends of the plate.
// Blocks: flange, hub. Side sets: bolt_holes, bore, foot (below), rim (the top of the hub), seats (rings about the
// bolt holes, above).
half_length = 50;
half_width = 40;
corner = 10;
thickness = 10;
height_of_rib = 16;  // above the plate
height_of_hub = 34;  // above the plate
bolt_x = 37;
bolt_y = 27;
bolt_inner = 4.5;
bolt_outer = 9;
hub_inner = 14;
hub_outer = 22;
half_rib = 5;

n_bolt = 4;        // elements along a quarter of a bolt hole
n_seat = 2;        // from a bolt hole outwards
n_hub = 3;         // from the bore outwards
n_arc = 16;        // along the hub between the ribs
n_rib = 4;         // across a rib
n_rib_length = 10; // along a rib
n_thickness = 4;   // over the plate
n_height = 6;      // over a rib
n_top = 6;         // over the hub above the ribs
size = 2.6;        // of elements in the plate

Mesh.RecombineAll = 1;
Mesh.Algorithm = 5;
Mesh.RecombinationAlgorithm = 1;
Mesh.Smoothing = 20;
Mesh.MeshSizeMin = size;
Mesh.MeshSizeMax = size;

// A ring about (cx, cy) with points at the given angles; leaves its sectors and outer arcs.
Macro Ring
  centre = newp;
  Point(centre) = {cx, cy, 0};
  inside[] = {};
  outside[] = {};
  radii[] = {};
  For k In {0 : #angles[] - 1}
    p = newp;
    Point(p) = {cx + inner * Cos(angles[k]), cy + inner * Sin(angles[k]), 0};
    inside[] += p;
    p = newp;
    Point(p) = {cx + outer * Cos(angles[k]), cy + outer * Sin(angles[k]), 0};
    outside[] += p;
    c = newl;
    Line(c) = {inside[k], outside[k]};
    Transfinite Curve{c} = n_radius + 1;
    radii[] += c;
  EndFor
  arcs[] = {};
  sectors[] = {};
  For k In {0 : #angles[] - 1}
    next = (k + 1) % #angles[];
    c = newl;
    Circle(c) = {inside[k], centre, inside[next]};
    Transfinite Curve{c} = numbers[k] + 1;
    d = newl;
    Circle(d) = {outside[k], centre, outside[next]};
    Transfinite Curve{d} = numbers[k] + 1;
    arcs[] += d;
    loop = newll;
    Curve Loop(loop) = {radii[k], d, -radii[next], -c};
    s = news;
    Plane Surface(s) = {loop};
    Transfinite Surface{s} = {inside[k], outside[k], outside[next], inside[next]};
    Recombine Surface{s};
    sectors[] += s;
  EndFor
Return

// The hub, split where the ribs meet it.
a = Asin(half_rib / hub_outer);
angles[] = {-a, a, Pi / 2, Pi - a, Pi + a, 3 * Pi / 2};
numbers[] = {n_rib, n_arc / 2, n_arc / 2, n_rib, n_arc / 2, n_arc / 2};
cx = 0;
cy = 0;
inner = hub_inner;
outer = hub_outer;
n_radius = n_hub;
Call Ring;
hub[] = sectors[];
hub_arcs[] = arcs[];
hub_points[] = outside[];

// Rings about the bolt holes.
angles[] = {Pi / 4, 3 * Pi / 4, 5 * Pi / 4, 7 * Pi / 4};
numbers[] = {n_bolt, n_bolt, n_bolt, n_bolt};
inner = bolt_inner;
outer = bolt_outer;
n_radius = n_seat;
bolts[] = {};
bolt_loops[] = {};
For bolt In {0 : 3}
  cx = (bolt % 2 == 0) ? bolt_x : -bolt_x;
  cy = (bolt < 2) ? bolt_y : -bolt_y;
  Call Ring;
  bolts[] += sectors[];
  loop = newll;
  Curve Loop(loop) = {arcs[]};
  bolt_loops[] += loop;
EndFor

// The ribs, from the hub to x = half_length and -half_length.
right[] = {};
left[] = {};
For k In {0 : 1}
  y = (k == 0) ? -half_rib : half_rib;
  p = newp;
  Point(p) = {half_length, y, 0};
  right[] += p;
  p = newp;
  Point(p) = {-half_length, -y, 0};
  left[] += p;
EndFor
rib_lines[] = {};
rib_points[] = {right[], left[]};
rib_roots[] = {hub_points[0], hub_points[1], hub_points[3], hub_points[4]};
For k In {0 : 3}
  c = newl;
  Line(c) = {rib_roots[k], rib_points[k]};
  Transfinite Curve{c} = n_rib_length + 1;
  rib_lines[] += c;
EndFor
ribs[] = {};
For k In {0 : 1}
  c = newl;
  Line(c) = {rib_points[2 * k], rib_points[2 * k + 1]};
  Transfinite Curve{c} = n_rib + 1;
  loop = newll;
  Curve Loop(loop) = {rib_lines[2 * k], c, -rib_lines[2 * k + 1], -hub_arcs[3 * k]};
  s = news;
  Plane Surface(s) = {loop};
  Transfinite Surface{s} = {rib_roots[2 * k], rib_points[2 * k], rib_points[2 * k + 1], rib_roots[2 * k + 1]};
  Recombine Surface{s};
  ribs[] += s;
EndFor

// The plate beside them: for y > 0 and for y < 0, with round corners.
plate[] = {};
For half In {0 : 1}
  sign = (half == 0) ? 1 : -1;
  corners[] = {};
  xs[] = {half_length, half_length - corner, half_length - corner, corner - half_length, corner - half_length, -half_length};
  ys[] = {half_width - corner, half_width - corner, half_width, half_width, half_width - corner, half_width - corner};
  For k In {0 : 5}
    p = newp;
    Point(p) = {sign * xs[k], sign * ys[k], 0};
    corners[] += p;
  EndFor
  c = newl;
  Line(c) = {rib_points[2 * half + 1], corners[0]};
  Circle(c + 1) = {corners[0], corners[1], corners[2]};
  Line(c + 2) = {corners[2], corners[3]};
  Circle(c + 3) = {corners[3], corners[4], corners[5]};
  Line(c + 4) = {corners[5], rib_points[(2 * half + 2) % 4]};
  Transfinite Curve{c, c + 4} = Ceil((half_width - corner - half_rib) / size / 2) * 2 + 1;
  Transfinite Curve{c + 1, c + 3} = 6 + 1;
  Transfinite Curve{c + 2} = Ceil((half_length - corner) / size) * 2 + 1;
  loop = newll;
  Curve Loop(loop) = {rib_lines[2 * half + 1], c, c + 1, c + 2, c + 3, c + 4, -rib_lines[(2 * half + 2) % 4],
                      -hub_arcs[3 * half + 2], -hub_arcs[3 * half + 1]};
  s = news;
  Plane Surface(s) = {loop, bolt_loops[2 * half], bolt_loops[2 * half + 1]};
  Recombine Surface{s};
  plate[] += s;
EndFor

// The plan goes up to the top of the plate, hub and ribs to that of the ribs, the hub to its own.
flange_volumes[] = {};
hub_volumes[] = {};
flat[] = {bolts[], plate[]};
For k In {0 : #flat[] - 1}
  solid[] = Extrude {0, 0, thickness} { Surface{flat[k]}; Layers{n_thickness}; Recombine; };
  flange_volumes[] += solid[1];
EndFor
For k In {0 : #ribs[] - 1}
  solid[] = Extrude {0, 0, thickness} { Surface{ribs[k]}; Layers{n_thickness}; Recombine; };
  higher[] = Extrude {0, 0, height_of_rib} { Surface{solid[0]}; Layers{n_height}; Recombine; };
  flange_volumes[] += {solid[1], higher[1]};
EndFor
For k In {0 : #hub[] - 1}
  solid[] = Extrude {0, 0, thickness} { Surface{hub[k]}; Layers{n_thickness}; Recombine; };
  higher[] = Extrude {0, 0, height_of_rib} { Surface{solid[0]}; Layers{n_height}; Recombine; };
  top[] = Extrude {0, 0, height_of_hub - height_of_rib} { Surface{higher[0]}; Layers{n_top}; Recombine; };
  hub_volumes[] += {solid[1], higher[1], top[1]};
EndFor

// Sets, by where the faces lie.
e = 1e-3;
l = 2 * half_length;
foot[] = Surface In BoundingBox {-l, -l, -e, l, l, e};
rim[] = Surface In BoundingBox {-l, -l, thickness + height_of_hub - e, l, l, thickness + height_of_hub + e};
bore[] = {};
bolt_holes[] = {};
seats[] = {};
skin[] = CombinedBoundary { Volume{flange_volumes[], hub_volumes[]}; };
For k In {0 : #skin[] - 1}
  s = Fabs(skin[k]);
  b[] = BoundingBox Surface{s};
  high = b[5] - b[2];
  // Within the box of a bolt's ring or hole in plan.
  from_bolt = Max(Max(Fabs(Fabs(b[0]) - bolt_x), Fabs(Fabs(b[3]) - bolt_x)),
                  Max(Fabs(Fabs(b[1]) - bolt_y), Fabs(Fabs(b[4]) - bolt_y)));
  from_axis = Max(Max(Fabs(b[0]), Fabs(b[3])), Max(Fabs(b[1]), Fabs(b[4])));
  If (high > e && from_bolt < bolt_inner + e)
    bolt_holes[] += s;
  ElseIf (high > e && from_axis < hub_inner + e)
    bore[] += s;
  ElseIf (high < e && Fabs(b[2] - thickness) < e && from_bolt < bolt_outer + e)
    seats[] += s;
  EndIf
EndFor

Physical Volume("flange", 1) = {flange_volumes[]};
Physical Volume("hub", 2) = {hub_volumes[]};
Physical Surface("bolt_holes", 1) = {bolt_holes[]};
Physical Surface("bore", 2) = {bore[]};
Physical Surface("foot", 3) = {foot[]};
Physical Surface("rim", 4) = {rim[]};
Physical Surface("seats", 5) = {seats[]};
