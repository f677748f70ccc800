// Draws the picture, the newest column beside it, and the strokes of labels.

struct View {
    // The size of the target in pixels.
    size: vec2f,
    // The levels of the first and the last colour.
    low: f32,
    high: f32,
    // Rectangles: the upper left corner and the extents, in pixels.
    picture: vec4f,
    spectrum: vec4f,
    columns: u32,
    rows: u32,
    // Where the levels begin in their buffer, in words.
    begin: u32,
}

@group(0) @binding(0) var<uniform> view: View;
// `COLOURS` is declared by the program.
@group(0) @binding(1) var<uniform> colours: array<vec4f, COLOURS>;
// The buffer of the library's tensor: rows from low to high, column after column, the oldest first.
@group(0) @binding(2) var<storage, read> levels: array<f32>;

const GROUND = vec3f(0.043, 0.043, 0.059);
const INK = vec3f(0.86, 0.86, 0.9);

fn colour(level: f32) -> vec3f {
    let place = clamp(level, 0.0, 1.0) * f32(COLOURS - 1);
    let below = min(u32(place), COLOURS - 2u);
    return mix(colours[below].rgb, colours[below + 1u].rgb, place - f32(below));
}

// The level between rows of one column, from 0 at `low` to 1 at `high`.
fn level_in(column: u32, row: f32) -> f32 {
    let place = clamp(row, 0.0, f32(view.rows - 1u));
    let below = min(u32(place), view.rows - 2u);
    let at = view.begin + column * view.rows + below;
    let level = mix(levels[at], levels[at + 1u], place - f32(below));
    return (level - view.low) / (view.high - view.low);
}

// The level between columns, too.
fn level_at(column: f32, row: f32) -> f32 {
    let place = clamp(column, 0.0, f32(view.columns - 1u));
    let below = min(u32(place), view.columns - 2u);
    return mix(level_in(below, row), level_in(below + 1u, row), place - f32(below));
}

fn inside(at: vec2f) -> bool {
    return all(at >= vec2f(0.0)) && all(at < vec2f(1.0));
}

// A triangle that covers the target.
@vertex
fn cover(@builtin(vertex_index) i: u32) -> @builtin(position) vec4f {
    let corner = vec2f(vec2u(i & 1u, i >> 1u)) * 4.0 - 1.0;
    return vec4f(corner, 0.0, 1.0);
}

@fragment
fn paint(@builtin(position) pixel: vec4f) -> @location(0) vec4f {
    let rows = f32(view.rows);
    var at = (pixel.xy - view.picture.xy) / view.picture.zw;
    if inside(at) {
        let level = level_at(at.x * f32(view.columns) - 0.5, (1.0 - at.y) * rows - 0.5);
        return vec4f(colour(level), 1.0);
    }
    at = (pixel.xy - view.spectrum.xy) / view.spectrum.zw;
    if inside(at) {
        // A bar as long as the level, in the colours of all levels below it: a legend of the picture.
        let level = level_in(view.columns - 1u, (1.0 - at.y) * rows - 0.5);
        let covered = clamp((level - at.x) * view.spectrum.z + 0.5, 0.0, 1.0);
        return vec4f(mix(colour(0.0), colour(at.x), covered), 1.0);
    }
    return vec4f(GROUND, 1.0);
}

struct Corner {
    @builtin(position) position: vec4f,
    @location(0) pixel: vec2f,
    @location(1) @interpolate(flat) ends: vec4f,
    @location(2) @interpolate(flat) look: vec2f,
}

// A rectangle around a stroke, as two triangles.
@vertex
fn outline(
    @builtin(vertex_index) i: u32,
    @location(0) ends: vec4f,
    @location(1) look: vec2f,
) -> Corner {
    let along = ends.zw - ends.xy;
    let ahead = select(vec2f(1.0, 0.0), normalize(along), length(along) > 0.0);
    let aside = vec2f(-ahead.y, ahead.x);
    // Corners 0 1 2, and 2 1 3.
    let corner = select(i, 6u - i, i > 2u);
    let end = select(ends.xy - ahead * (look.x + 1.0), ends.zw + ahead * (look.x + 1.0), (corner & 1u) == 1u);
    let pixel = end + aside * (look.x + 1.0) * select(-1.0, 1.0, corner > 1u);
    let clip = pixel / view.size * vec2f(2.0, -2.0) + vec2f(-1.0, 1.0);
    return Corner(vec4f(clip, 0.0, 1.0), pixel, ends, look);
}

@fragment
fn ink(corner: Corner) -> @location(0) vec4f {
    let along = corner.ends.zw - corner.ends.xy;
    let from_begin = corner.pixel - corner.ends.xy;
    let share = clamp(dot(from_begin, along) / max(dot(along, along), 1e-9), 0.0, 1.0);
    let away = distance(from_begin, share * along);
    return vec4f(INK, corner.look.y * clamp(0.5 * corner.look.x + 0.5 - away, 0.0, 1.0));
}
