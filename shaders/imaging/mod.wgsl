// Executes one level of image programs: each workgroup one segment, a straight run of instructions, for one element.
//
// An instruction has 16 words: opcode, two numbers, the place of its result, its capacity in cells, the places of three
// operands, and how many of these there are. A place or capacity (a, b) stands for a u + b; u is the unit in the record
// of the element. A value in the arena is its state, rows, columns, an unused word, and then its cells, row by row. Of
// the result, `capacity` cells are followed by capacity + 4 words for COMPACT, FILL_HOLES, LABEL and SORT.
//
// All invocations compute the extents of the result alike, then most operations compute its cells independently, in
// cell_of. Others need the whole image, in an own function. Extents above MOST are an overflow.
//
// Instructions, records and the capacities that follow from them are uniform, values in the arena are not: what they
// decide about barriers comes from `agreed` or `total`.

#params
@group(0) @binding(1) var<storage, read> samples: array<u32>;
@group(0) @binding(2) var<storage, read> code: array<u32>;
@group(0) @binding(3) var<storage, read_write> arena: array<u32>;
@group(0) @binding(4) var<storage, read_write> results: array<u32>;

const WG = 32u;
// Parts of eight invocations.
const EIGHTHS = WG / 8u;
const NONE = 0xffffffffu;
const MOST = 0x7fffffffu;
// Cells of images that are labelled in workgroup memory, and bins that are counted at a time.
const HELD = 320u;
// Regions that are described at a time.
const REGIONS_AT_A_TIME = WG;

// Which neighbouring cells belong together.
const ALIKE = 0u;
const FOREGROUND = 1u;
const BACKGROUND = 2u;

struct Value {
    state: u32,
    rows: u32,
    columns: u32,
    // Its first cell in the arena.
    cells: u32,
}

struct Step {
    opcode: u32,
    numbers: vec2<u32>,
    capacity: u32,
    // The first cell of the result, and words for any use.
    cells: u32,
    scratch: u32,
}

// The extents of a result, rows NONE if it is invalid, and numbers that its cells are computed from.
struct Shape {
    rows: u32,
    columns: u32,
    given: vec4<i32>,
    value: i32,
}

// Parents of cells, bins, or what is known of regions.
var<workgroup> sh_words: array<atomic<u32>, HELD + 1u>;
var<workgroup> sh_each: array<vec4<i32>, WG>;
var<workgroup> sh_eights: array<vec4<i32>, EIGHTHS>;
var<workgroup> sh_one: vec4<i32>;

fn cell(v: Value, i: u32) -> i32 {
    return bitcast<i32>(arena[v.cells + i]);
}

fn set_cell(s: Step, i: u32, value: i32) {
    arena[s.cells + i] = bitcast<u32>(value);
}

fn value_at(place: u32) -> Value {
    return Value(arena[place], arena[place + 1u], arena[place + 2u], place + 4u);
}

fn is_row(v: Value, length: u32) -> bool {
    return v.rows == 1u && v.columns == length;
}

// Up to four cells, and zeros.
fn first_cells(v: Value) -> vec4<i32> {
    let cells = v.rows * v.columns;
    var first = vec4<i32>();
    if cells > 0u {
        first.x = cell(v, 0u);
    }
    if cells > 1u {
        first.y = cell(v, 1u);
    }
    if cells > 2u {
        first.z = cell(v, 2u);
    }
    if cells > 3u {
        first.w = cell(v, 3u);
    }
    return first;
}

fn synchronize() {
    storageBarrier();
    workgroupBarrier();
}

// The value of the first invocation.
fn agreed(value: vec4<i32>, lid: u32) -> vec4<i32> {
    if lid == 0u {
        sh_one = value;
    }
    return workgroupUniformLoad(&sh_one);
}

fn folded(kind: u32, x: vec4<i32>, y: vec4<i32>) -> vec4<i32> {
    switch kind {
        case SUM: {
            return x + y;
        }
        case SMALLEST: {
            return min(x, y);
        }
        case LARGEST: {
            return max(x, y);
        }
        default: {
            return select(y, x, y == vec4<i32>());
        }
    }
}

// What changes nothing in `folded`.
fn neutral(kind: u32) -> i32 {
    return select(select(0, 0x7fffffff, kind == SMALLEST), -0x7fffffff - 1, kind == LARGEST);
}

// The values of all invocations together.
fn total(kind: u32, value: vec4<i32>, lid: u32) -> vec4<i32> {
    sh_each[lid] = value;
    workgroupBarrier();
    if lid < EIGHTHS {
        var sum = sh_each[8u * lid];
        for (var k = 1u; k < 8u; k += 1u) {
            sum = folded(kind, sum, sh_each[8u * lid + k]);
        }
        sh_eights[lid] = sum;
    }
    workgroupBarrier();
    var sum = vec4<i32>();
    if lid == 0u {
        sum = sh_eights[0];
        for (var k = 1u; k < EIGHTHS; k += 1u) {
            sum = folded(kind, sum, sh_eights[k]);
        }
    }
    return agreed(sum, lid);
}

// The sum of the counts of the invocations before this one, and of all.
fn sums(count: u32, lid: u32) -> vec2<u32> {
    sh_each[lid].x = i32(count);
    workgroupBarrier();
    var before = 0u;
    var all = 0u;
    for (var k = 0u; k < WG; k += 1u) {
        before = select(before, all, k == lid);
        all += u32(sh_each[k].x);
    }
    workgroupBarrier();
    return vec2(before, all);
}

// The begin and end of this invocation's part of n things.
fn part_of(n: u32, lid: u32) -> vec2<u32> {
    let each = (n + WG - 1u) / WG;
    let begin = min(lid * each, n);
    return vec2(begin, min(begin + each, n));
}

fn distance_of(x: i32, y: i32) -> u32 {
    return u32(max(x, y)) - u32(min(x, y));
}

fn fits(rows: u32, columns: u32, capacity: u32) -> bool {
    return rows <= MOST && columns <= MOST && (rows == 0u || columns <= capacity / rows);
}

// The common extent of an axis along which extents of 1 are repeated, or NONE.
fn shared_extent(a: u32, b: u32) -> u32 {
    return select(select(select(NONE, a, b == 1u), b, a == 1u), a, a == b);
}

// The extent times a positive factor, or one that fits nowhere.
fn multiplied(extent: u32, factor: i32) -> u32 {
    return select(extent * u32(factor), MOST + 1u, u32(factor) > MOST / max(extent, 1u));
}

// The cell of v for cell (r, c) of a result that it is repeated to.
fn repeated(v: Value, r: u32, c: u32) -> i32 {
    return cell(v, select(r, 0u, v.rows == 1u) * v.columns + select(c, 0u, v.columns == 1u));
}

fn quotient(x: i32, y: i32) -> i32 {
    if y == -1 {
        return 0 - x;
    }
    let divisor = select(y, 1, y == 0);
    let q = x / divisor;
    let rest = x - q * divisor;
    return q - i32(rest != 0 && (rest < 0) != (divisor < 0));
}

fn combined(function: u32, x: i32, y: i32) -> i32 {
    switch function {
        case PLUS: {
            return x + y;
        }
        case MINUS: {
            return x - y;
        }
        case TIMES: {
            return x * y;
        }
        case DIVIDE: {
            return quotient(x, y);
        }
        case REMAINDER: {
            return x - quotient(x, y) * y;
        }
        case MINIMUM: {
            return min(x, y);
        }
        case MAXIMUM: {
            return max(x, y);
        }
        case EQUALS: {
            return i32(x == y);
        }
        case DIFFERS: {
            return i32(x != y);
        }
        case LESS: {
            return i32(x < y);
        }
        case AT_MOST: {
            return i32(x <= y);
        }
        case GREATER: {
            return i32(x > y);
        }
        case AT_LEAST: {
            return i32(x >= y);
        }
        case AND: {
            return i32(x != 0 && y != 0);
        }
        case OR: {
            return i32(x != 0 || y != 0);
        }
        default: {
            return i32((x != 0) != (y != 0));
        }
    }
}

// The extents of the result of valid operands; for BOX, COMPACT, PALETTE and REGIONS, what is known of them before the
// cells are read.
fn shape_of(s: Step, record: u32, a: Value, b: Value, c: Value) -> Shape {
    var given = vec4<i32>();
    var value = 0;
    if s.opcode == FILL {
        given = vec4(first_cells(a).x, first_cells(b).x, 0, 0);
        value = first_cells(c).x;
    } else if s.opcode != COMBINE && s.opcode != CHOOSE {
        given = first_cells(b);
        value = first_cells(c).x;
    }
    var rows = a.rows;
    var columns = a.columns;
    var valid = true;
    switch s.opcode {
        case INPUT: {
            let at = record + 3u + 3u * s.numbers.x;
            rows = samples[at + 1u];
            columns = samples[at + 2u];
        }
        case CONSTANT: {
            rows = 1u;
            columns = s.numbers.y;
        }
        case COMBINE: {
            rows = shared_extent(a.rows, b.rows);
            columns = shared_extent(a.columns, b.columns);
        }
        case CHOOSE: {
            rows = shared_extent(shared_extent(a.rows, b.rows), c.rows);
            columns = shared_extent(shared_extent(a.columns, b.columns), c.columns);
        }
        case ORIENT: {
            if (s.numbers.x & 4u) != 0u {
                rows = a.columns;
                columns = a.rows;
            }
        }
        case CROP: {
            let ends = vec2(i32(a.rows), i32(a.columns)).xyxy;
            let clipped = clamp(given, vec4<i32>(), ends);
            let below = given.zw < given.xy;
            valid = is_row(b, 4u) && (s.numbers.x == 0u || (all(clipped == given) && !any(below)));
            rows = u32(max(clipped.z - clipped.x, 0));
            columns = u32(max(clipped.w - clipped.y, 0));
            given = clipped;
        }
        case UPSCALE, DOWNSCALE, TILE: {
            if b.columns == 1u {
                given.y = given.x;
            }
            valid = (is_row(b, 1u) || is_row(b, 2u)) && given.x >= 1 && given.y >= 1;
            if valid && s.opcode == DOWNSCALE {
                rows = (a.rows + u32(given.x) - 1u) / u32(given.x);
                columns = (a.columns + u32(given.y) - 1u) / u32(given.y);
            } else if valid {
                rows = multiplied(a.rows, given.x);
                columns = multiplied(a.columns, given.y);
            }
        }
        case JOIN: {
            if s.numbers.x == 0u {
                valid = a.columns == b.columns;
                rows = a.rows + b.rows;
            } else {
                valid = a.rows == b.rows;
                columns = a.columns + b.columns;
            }
        }
        case TRANSLATE: {
            valid = is_row(b, 2u) && is_row(c, 1u);
        }
        case PASTE: {
            valid = is_row(c, 2u);
            given = first_cells(c);
        }
        case LABEL: {
            valid = is_row(b, 1u);
        }
        case FILL_HOLES: {
            valid = is_row(b, 1u) && is_row(c, 1u);
        }
        case REGIONS: {
            valid = a.rows == b.rows && a.columns == b.columns;
            rows = 0u;
            columns = 8u;
        }
        case HISTOGRAM: {
            rows = 1u;
            // So NONE bins are too many rather than invalid.
            columns = min(s.numbers.x, MOST + 1u);
        }
        case PALETTE: {
            rows = 1u;
            columns = 0u;
        }
        case LOOKUP: {
            valid = b.rows == 1u || b.columns == 1u;
        }
        case REDUCE: {
            let filled = a.rows > 0u && a.columns > 0u;
            rows = select(1u, a.rows, s.numbers.y == 1u);
            columns = select(1u, a.columns, s.numbers.y == 0u);
            valid = s.numbers.x == SUM || filled || rows == 0u || columns == 0u;
        }
        case PLACE: {
            valid = a.rows > 0u && a.columns > 0u;
            rows = 1u;
            columns = 1u;
        }
        case BOX: {
            rows = 0u;
            columns = 4u;
        }
        case COMPACT: {
            let axis = s.numbers.x;
            valid = b.rows == select(1u, a.rows, axis == 0u) && b.columns == select(1u, a.columns, axis == 1u);
            rows = select(a.rows, 0u, axis == 0u);
            columns = select(a.columns, 0u, axis == 1u);
        }
        case SORT: {
            valid = b.rows == a.rows && b.columns == 1u;
        }
        case PICK: {
            let by_row = s.numbers.x == 0u;
            let extent = i32(select(a.columns, a.rows, by_row));
            let at = given.x + select(0, extent, given.x < 0);
            valid = is_row(b, 1u) && at >= 0 && at < extent;
            rows = select(a.rows, 1u, by_row);
            columns = select(1u, a.columns, by_row);
            given = select(vec4(0, at, 0, 0), vec4(at, 0, 0, 0), by_row);
        }
        case OUTLINE: {
            valid = is_row(b, 4u) && is_row(c, 1u);
        }
        case LINE: {
            let high = distance_of(given.x, given.z);
            let wide = distance_of(given.y, given.w);
            valid = is_row(b, 4u) && is_row(c, 1u) && (high == 0u || wide == 0u || high == wide);
        }
        case MATCH: {
            if b.rows == 0u || b.columns == 0u || b.rows > a.rows || b.columns > a.columns {
                rows = 0u;
                columns = 0u;
            } else {
                rows = a.rows - b.rows + 1u;
                columns = a.columns - b.columns + 1u;
            }
        }
        case PERIOD: {
            valid = select(a.columns, a.rows, s.numbers.x == 0u) > 0u;
            rows = 1u;
            columns = 1u;
        }
        case SAME: {
            rows = 1u;
            columns = 1u;
        }
        case EXTENT: {
            given.x = i32(select(a.columns, a.rows, s.numbers.x == 0u));
            rows = 1u;
            columns = 1u;
        }
        case VALID: {
            given.x = i32(a.state == STATE_VALID);
            rows = 1u;
            columns = 1u;
        }
        case WHEN: {
            valid = is_row(b, 1u) && given.x != 0;
        }
        case FILL: {
            valid = is_row(a, 1u) && is_row(b, 1u) && is_row(c, 1u) && given.x >= 0 && given.y >= 0;
            rows = u32(given.x);
            columns = u32(given.y);
        }
        default: {}
    }
    if !valid || rows == NONE || columns == NONE {
        rows = NONE;
    }
    return Shape(rows, columns, given, value);
}

// Cell i of the result, in row r and column c, and whether it makes the result invalid.
fn cell_of(s: Step, record: u32, a: Value, b: Value, c: Value, shape: Shape, i: u32) -> vec2<i32> {
    let row = i / shape.columns;
    let column = i - row * shape.columns;
    let given = shape.given;
    // The cell of the first operand, for most operations.
    var y = row;
    var x = column;
    switch s.opcode {
        case INPUT: {
            let first = p.x_base + samples[record + 3u + 3u * s.numbers.x];
            return vec2(bitcast<i32>(samples[first + i]), 0);
        }
        case CONSTANT: {
            return vec2(bitcast<i32>(code[p.constants_at + s.numbers.x + i]), 0);
        }
        case COMBINE: {
            let left = repeated(a, row, column);
            let right = repeated(b, row, column);
            let divides = s.numbers.x == DIVIDE || s.numbers.x == REMAINDER;
            return vec2(combined(s.numbers.x, left, right), i32(divides && right == 0));
        }
        case CHOOSE: {
            if repeated(a, row, column) != 0 {
                return vec2(repeated(b, row, column), 0);
            }
            return vec2(repeated(c, row, column), 0);
        }
        case ORIENT: {
            if (s.numbers.x & 2u) != 0u {
                y = shape.rows - 1u - row;
            }
            if (s.numbers.x & 1u) != 0u {
                x = shape.columns - 1u - column;
            }
            if (s.numbers.x & 4u) != 0u {
                let exchanged = y;
                y = x;
                x = exchanged;
            }
        }
        case CROP, PICK: {
            y = row + u32(given.x);
            x = column + u32(given.y);
        }
        case UPSCALE: {
            y = row / u32(given.x);
            x = column / u32(given.y);
        }
        case DOWNSCALE: {
            y = row * u32(given.x);
            x = column * u32(given.y);
        }
        case TILE: {
            y = row % a.rows;
            x = column % a.columns;
        }
        case JOIN: {
            if row >= a.rows {
                return vec2(cell(b, (row - a.rows) * b.columns + column), 0);
            }
            if column >= a.columns {
                return vec2(cell(b, row * b.columns + column - a.columns), 0);
            }
        }
        case TRANSLATE: {
            // What is outside is above all extents, as u32.
            y = row - u32(given.x);
            x = column - u32(given.y);
            if y >= a.rows || x >= a.columns {
                return vec2(shape.value, 0);
            }
        }
        case PASTE: {
            let its_row = row - u32(given.x);
            let its_column = column - u32(given.y);
            if its_row < b.rows && its_column < b.columns {
                return vec2(cell(b, its_row * b.columns + its_column), 0);
            }
        }
        case EXTREME: {
            var best = cell(a, i);
            for (var k = 0u; k < 9u; k += 1u) {
                let near_row = row + k / 3u - 1u;
                let near_column = column + k % 3u - 1u;
                if (s.numbers.y != 0u || k % 2u == 1u) && near_row < a.rows && near_column < a.columns {
                    let near = cell(a, near_row * a.columns + near_column);
                    best = select(min(best, near), max(best, near), s.numbers.x == LARGEST);
                }
            }
            return vec2(best, 0);
        }
        case LOOKUP: {
            let at = arena[a.cells + i];
            if at >= b.rows * b.columns {
                return vec2(0, 1);
            }
            return vec2(cell(b, at), 0);
        }
        case REDUCE: {
            if s.numbers.y == 2u {
                return vec2(given.x, 0);
            }
            let down = s.numbers.y == 0u;
            let first = select(i * a.columns, i, down);
            let step = select(1u, a.columns, down);
            let length = select(a.columns, a.rows, down);
            var sum = vec4(neutral(s.numbers.x));
            for (var k = 0u; k < length; k += 1u) {
                sum = folded(s.numbers.x, sum, vec4(cell(a, first + k * step)));
            }
            return vec2(sum.x, 0);
        }
        case COMPACT: {
            if s.numbers.x == 0u {
                y = arena[s.scratch + row];
            } else {
                x = arena[s.scratch + column];
            }
        }
        case SORT: {
            y = arena[s.scratch + row];
        }
        case OUTLINE: {
            let at = vec2(i32(row), i32(column));
            if all(at >= given.xy) && all(at < given.zw) && (any(at == given.xy) || any(at == given.zw - 1)) {
                return vec2(shape.value, 0);
            }
        }
        case LINE: {
            let at = vec2(i32(row), i32(column));
            if all(at >= min(given.xy, given.zw)) && all(at <= max(given.xy, given.zw)) {
                // Between the ends of a diagonal, cells of it are as far from one of them in both directions.
                let straight = any(given.xy == given.zw);
                if straight || distance_of(at.x, given.x) == distance_of(at.y, given.y) {
                    return vec2(shape.value, 0);
                }
            }
        }
        case MATCH: {
            var alike = true;
            for (var k = 0u; k < b.rows && alike; k += 1u) {
                let first = (row + k) * a.columns + column;
                for (var j = 0u; j < b.columns && alike; j += 1u) {
                    alike = cell(a, first + j) == cell(b, k * b.columns + j);
                }
            }
            return vec2(i32(alike), 0);
        }
        case NUMBERS: {
            return vec2(i32(select(column, row, s.numbers.x == 0u)), 0);
        }
        case PLACE, BOX, PERIOD, SAME, EXTENT, VALID: {
            return vec2(given[i], 0);
        }
        case FILL: {
            return vec2(shape.value, 0);
        }
        default: {}
    }
    return vec2(cell(a, y * a.columns + x), 0);
}

// Whether neighbouring cells x and y belong together. With itself, a cell does if it is part of a component at all.
fn linked(kind: u32, background: i32, x: i32, y: i32) -> bool {
    switch kind {
        case ALIKE: {
            return x == y && x != background;
        }
        case FOREGROUND: {
            return x != background && y != background;
        }
        default: {
            return x == background && y == background;
        }
    }
}

// A forest of nodes: node 0, and node i + 1 for cell i. A parent is never greater. It begins at this word of the arena;
// at NONE, it is in workgroup memory.
fn parent(forest: u32, node: u32) -> u32 {
    if forest == NONE {
        return atomicLoad(&sh_words[node]);
    }
    return arena[forest + node];
}

fn set_parent(forest: u32, node: u32, its_parent: u32) {
    if forest == NONE {
        atomicStore(&sh_words[node], its_parent);
    } else {
        arena[forest + node] = its_parent;
    }
}

fn root_of(forest: u32, node: u32) -> u32 {
    var at = node;
    var next = parent(forest, at);
    while next != at {
        at = next;
        next = parent(forest, at);
    }
    return at;
}

// The same, and shortens the way in the arena: no other invocation uses these nodes at the time.
fn root_near(forest: u32, node: u32) -> u32 {
    var at = node;
    var next = parent(forest, at);
    while next != at {
        let after = parent(forest, next);
        if forest != NONE && after != next {
            arena[forest + at] = after;
        }
        at = next;
        next = after;
    }
    return at;
}

fn unite(forest: u32, i: u32, j: u32) {
    var low = root_near(forest, i);
    var high = root_near(forest, j);
    while low != high {
        if low > high {
            let other = low;
            low = high;
            high = other;
        }
        if forest == NONE {
            // If another invocation has changed the parent meanwhile, the one that it had must be united as well.
            let old = atomicMin(&sh_words[high], low);
            high = select(old, low, old == high);
        } else {
            arena[forest + high] = low;
            high = low;
        }
    }
}

// Unites cell i with those of its earlier neighbours that are linked with it, among the cells from begin to end.
fn unite_earlier(kind: u32, eight: bool, background: i32, a: Value, forest: u32, i: u32, begin: u32, end: u32) {
    let row = i / a.columns;
    let column = i - row * a.columns;
    let here = cell(a, i);
    // West, north, north-west, north-east.
    let directions = select(2u, 4u, eight);
    for (var k = 0u; k < directions; k += 1u) {
        let x = column + u32(k == 3u) - u32(k == 0u || k == 2u);
        if x < a.columns && (k == 0u || row > 0u) {
            let j = select(row - 1u, row, k == 0u) * a.columns + x;
            if j >= begin && j < end && linked(kind, background, here, cell(a, j)) {
                unite(forest, i + 1u, j + 1u);
            }
        }
    }
}

// LABEL and FILL_HOLES. Node 0 stands for the background of labels, or for cells that remain as they are. So the parent
// of a cell is 0 there, and the background at the border of the image is united with 0.
//
// Images of more than HELD cells are in the arena. There, each invocation unites the cells of its part of the image.
// Then one of each two invocations unites their parts, and so on.
fn components(s: Step, a: Value, background: i32, value: i32, valid: bool, lid: u32) {
    let cells = u32(agreed(vec4(i32(select(0u, a.rows * a.columns, valid))), lid).x);
    let small = cells <= HELD;
    let fills = s.opcode == FILL_HOLES;
    let kind = select(s.numbers.x, BACKGROUND, fills);
    let eight = !fills && s.numbers.y != 0u;
    let forest = select(s.scratch, NONE, small);

    if lid == 0u && cells > 0u {
        set_parent(forest, 0u, 0u);
    }
    for (var i = lid; i < cells; i += WG) {
        let here = cell(a, i);
        var inside = linked(kind, background, here, here);
        if fills && inside {
            let row = i / a.columns;
            let column = i - row * a.columns;
            inside = row > 0u && row + 1u < a.rows && column > 0u && column + 1u < a.columns;
        }
        set_parent(forest, i + 1u, select(0u, i + 1u, inside));
    }
    synchronize();

    let part = part_of(cells, lid);
    if small {
        for (var i = lid; i < cells; i += WG) {
            unite_earlier(kind, eight, background, a, forest, i, 0u, cells);
        }
    } else {
        for (var i = part.x; i < part.y; i += 1u) {
            unite_earlier(kind, eight, background, a, forest, i, part.x, part.y);
        }
        let each = (cells + WG - 1u) / WG;
        for (var parts = 1u; parts < WG; parts *= 2u) {
            synchronize();
            if 2u * parts * lid < WG {
                let begin = min(2u * parts * lid * each, cells);
                let middle = min(begin + parts * each, cells);
                // Beyond this end, no cell has a neighbour before the middle. Cells after the first that are less than
                // a row from the begin have none there, either.
                let end = min(min(middle + parts * each, cells), middle + a.columns + 1u);
                for (var i = middle; i < end; i = max(i + 1u, begin + a.columns - 1u)) {
                    unite_earlier(kind, eight, background, a, forest, i, begin, middle);
                }
            }
        }
    }
    synchronize();

    if fills {
        for (var i = lid; i < cells; i += WG) {
            set_cell(s, i, select(cell(a, i), value, root_of(forest, i + 1u) != 0u));
        }
        return;
    }
    // Roots are the first cells of components. They get their numbers, and then other cells those of their roots.
    var count = 0u;
    for (var i = part.x; i < part.y; i += 1u) {
        count += u32(parent(forest, i + 1u) == i + 1u);
    }
    var before = sums(count, lid).x;
    for (var i = part.x; i < part.y; i += 1u) {
        if parent(forest, i + 1u) == i + 1u {
            before += 1u;
            set_cell(s, i, i32(before));
        }
    }
    synchronize();
    for (var i = lid; i < cells; i += WG) {
        let root = root_of(forest, i + 1u);
        if root == 0u {
            set_cell(s, i, 0);
        } else if root != i + 1u {
            arena[s.cells + i] = arena[s.cells + root - 1u];
        }
    }
}

// HISTOGRAM and PALETTE, in passes of up to HELD bins. The number of values, and whether there are some that have no
// bin.
fn count_values(s: Step, a: Value, cells: u32, valid: bool, lid: u32) -> vec2<u32> {
    let counts = s.opcode == HISTOGRAM;
    // If the bins are too many, the result is an overflow anyway.
    let size = min(select(s.numbers.x, 0u, counts && s.numbers.x > s.capacity), MOST + 1u);
    var start = 0u;
    var found = 0u;
    var bad = 0;
    loop {
        let bins = min(size - start, HELD);
        let part = part_of(bins, lid);
        for (var k = part.x; k < part.y; k += 1u) {
            atomicStore(&sh_words[k], 0u);
        }
        if lid == 0u {
            atomicStore(&sh_words[HELD], NONE);
        }
        workgroupBarrier();
        for (var i = lid; i < cells; i += WG) {
            let value = arena[a.cells + i];
            if value >= size {
                bad = 1;
            } else if value >= start + bins {
                atomicMin(&sh_words[HELD], value);
            } else if value >= start {
                atomicAdd(&sh_words[value - start], 1u);
            }
        }
        workgroupBarrier();
        if counts {
            for (var k = part.x; k < part.y && valid; k += 1u) {
                arena[s.cells + start + k] = atomicLoad(&sh_words[k]);
            }
            workgroupBarrier();
            // The next pass has the next bins, if there are any.
            start += HELD;
            if start >= size {
                break;
            }
        } else {
            var count = 0u;
            for (var k = part.x; k < part.y; k += 1u) {
                count += u32(atomicLoad(&sh_words[k]) != 0u);
            }
            let sum = sums(count, lid);
            var at = found + sum.x;
            for (var k = part.x; k < part.y; k += 1u) {
                if atomicLoad(&sh_words[k]) != 0u {
                    if at < s.capacity {
                        arena[s.cells + at] = start + k;
                    }
                    at += 1u;
                }
            }
            found += sum.y;
            // The next pass begins at the smallest value beyond.
            start = u32(agreed(vec4(i32(atomicLoad(&sh_words[HELD]))), lid).x);
            if start == NONE {
                break;
            }
        }
    }
    return vec2(found, u32(total(LARGEST, vec4(bad), lid).x));
}

// (high 2³² + low) / divisor, which fits.
fn wide_quotient(high: u32, low: u32, divisor: u32) -> u32 {
    if high == 0u {
        return low / divisor;
    }
    var rest = high;
    var result = 0u;
    for (var k = 0u; k < 32u; k += 1u) {
        let carry = rest >> 31u;
        rest = (rest << 1u) | ((low >> (31u - k)) & 1u);
        result <<= 1u;
        if carry != 0u || rest >= divisor {
            rest -= divisor;
            result |= 1u;
        }
    }
    return result;
}

fn field(k: u32, slot: u32) -> u32 {
    return REGIONS_AT_A_TIME * k + slot;
}

// Adds to fields k and k + 1, the low and high word of a sum.
fn add_wide(k: u32, slot: u32, value: u32) {
    let old = atomicAdd(&sh_words[field(k, slot)], value);
    if old + value < old {
        atomicAdd(&sh_words[field(k + 1u, slot)], 1u);
    }
}

// REGIONS of labels a in image b. The state and number of rows.
fn describe(s: Step, a: Value, b: Value, cells: u32, lid: u32) -> vec2<u32> {
    var largest = 0;
    for (var i = lid; i < cells; i += WG) {
        largest = max(largest, cell(a, i));
    }
    let all = total(LARGEST, vec4(largest, i32(cells), 0, 0), lid);
    if all.x > all.y {
        return vec2(STATE_INVALID, 0u);
    }
    let regions = u32(all.x);
    if regions > s.numbers.x || !fits(regions, 8u, s.capacity) {
        return vec2(STATE_OVERFLOW, 0u);
    }
    for (var first = 0u; first < regions; first += REGIONS_AT_A_TIME) {
        // Area, last row and column, sums of rows and columns, and then the first row, column and cell.
        for (var k = 0u; k < 10u; k += 1u) {
            atomicStore(&sh_words[field(k, lid)], select(0u, NONE, k >= 7u));
        }
        workgroupBarrier();
        for (var i = lid; i < cells; i += WG) {
            // Labels of 0 and less are beyond all slots.
            let slot = arena[a.cells + i] - 1u - first;
            if slot < REGIONS_AT_A_TIME {
                let row = i / a.columns;
                let column = i - row * a.columns;
                atomicAdd(&sh_words[field(0u, slot)], 1u);
                atomicMax(&sh_words[field(1u, slot)], row);
                atomicMax(&sh_words[field(2u, slot)], column);
                add_wide(3u, slot, row);
                add_wide(5u, slot, column);
                atomicMin(&sh_words[field(7u, slot)], row);
                atomicMin(&sh_words[field(8u, slot)], column);
                atomicMin(&sh_words[field(9u, slot)], i);
            }
        }
        workgroupBarrier();
        if first + lid < regions {
            let at = s.cells + 8u * (first + lid);
            var words: array<u32, 10>;
            for (var k = 0u; k < 10u; k += 1u) {
                words[k] = atomicLoad(&sh_words[field(k, lid)]);
            }
            if words[0] == 0u {
                for (var k = 0u; k < 8u; k += 1u) {
                    arena[at + k] = 0u;
                }
            } else {
                arena[at] = words[0];
                arena[at + 1u] = words[7];
                arena[at + 2u] = words[8];
                arena[at + 3u] = words[1] + 1u;
                arena[at + 4u] = words[2] + 1u;
                arena[at + 5u] = wide_quotient(words[4], words[3], words[0]);
                arena[at + 6u] = wide_quotient(words[6], words[5], words[0]);
                arena[at + 7u] = arena[b.cells + words[9]];
            }
        }
        workgroupBarrier();
    }
    return vec2(STATE_VALID, regions);
}

// PLACE: the first of the smallest or largest cells.
fn place_of(s: Step, a: Value, cells: u32, lid: u32) -> i32 {
    let kind = s.numbers.x;
    var best = neutral(kind);
    var at = i32(MOST);
    for (var i = lid; i < cells; i += WG) {
        let here = cell(a, i);
        if at == i32(MOST) || select(here < best, best < here, kind == LARGEST) {
            best = here;
            at = i32(i);
        }
    }
    let all = total(kind, vec4(best), lid).x;
    return total(SMALLEST, vec4(select(i32(MOST), at, best == all)), lid).x;
}

// BOX: the first row and column, and the end row and column of cells that are not 0. None: MOST.
fn box_of(a: Value, cells: u32, lid: u32) -> vec4<i32> {
    var box = vec4(i32(MOST));
    for (var i = lid; i < cells; i += WG) {
        if cell(a, i) != 0 {
            let row = i32(i / a.columns);
            let column = i32(i % a.columns);
            box = min(box, vec4(row, column, -1 - row, -1 - column));
        }
    }
    let all = total(SMALLEST, box, lid);
    return vec4(all.xy, -all.zw);
}

// PERIOD, or 0 for no cells. 32 shifts at a time are compared; bits tell which of them are still possible.
fn period_of(s: Step, a: Value, valid: bool, lid: u32) -> i32 {
    let by_row = s.numbers.x == 0u;
    let length = i32(select(0u, select(a.columns, a.rows, by_row), valid));
    let extent = u32(agreed(vec4(length), lid).x);
    let cells = select(0u, a.rows * a.columns, valid);
    let step = select(1u, a.columns, by_row);
    for (var first = 1u; first <= extent; first += 32u) {
        if lid == 0u {
            atomicStore(&sh_words[0], NONE >> (32u - min(extent - first + 1u, 32u)));
        }
        workgroupBarrier();
        for (var i = lid; i < cells; i += WG) {
            var left = atomicLoad(&sh_words[0]);
            if left == 0u {
                break;
            }
            let row = i / a.columns;
            let after = extent - select(i - row * a.columns, row, by_row);
            let here = cell(a, i);
            while left != 0u {
                let bit = firstTrailingBit(left);
                left &= left - 1u;
                if first + bit >= after {
                    break;
                }
                if cell(a, i + (first + bit) * step) != here {
                    atomicAnd(&sh_words[0], ~(1u << bit));
                }
            }
        }
        workgroupBarrier();
        let possible = u32(agreed(vec4(i32(atomicLoad(&sh_words[0]))), lid).x);
        if possible != 0u {
            return i32(first + firstTrailingBit(possible));
        }
    }
    return 0;
}

// SAME.
fn are_same(a: Value, b: Value, cells: u32, lid: u32) -> bool {
    var differ = a.rows != b.rows || a.columns != b.columns;
    for (var i = lid; i < cells && !differ; i += WG) {
        differ = cell(a, i) != cell(b, i);
    }
    return total(LARGEST, vec4(i32(differ)), lid).x == 0;
}

// SCAN: each invocation follows a line from where the direction enters the image.
fn scan(s: Step, a: Value, lid: u32) {
    // Bits for the directions that go down, up, right and left.
    let down = (0x32u >> s.numbers.y) & 1u;
    let up = (0xc8u >> s.numbers.y) & 1u;
    let right = (0x91u >> s.numbers.y) & 1u;
    let left = (0x64u >> s.numbers.y) & 1u;
    let vertical = down + up;
    // Lines begin in the first or last row, and then in the first or last column.
    let lines = vertical * a.columns + (left + right) * (a.rows - vertical);
    for (var line = lid; line < lines; line += WG) {
        var row = 0u;
        var column = line;
        if vertical == 0u || line >= a.columns {
            row = line - vertical * (a.columns - 1u);
            column = left * (a.columns - 1u);
        }
        row = select(row, a.rows - 1u - row, up == 1u);
        var sum = vec4(neutral(s.numbers.x));
        while row < a.rows && column < a.columns {
            let i = row * a.columns + column;
            sum = folded(s.numbers.x, sum, vec4(cell(a, i)));
            set_cell(s, i, sum.x);
            row += down - up;
            column += right - left;
        }
    }
}

// COMPACT: lists the flagged rows or columns, and returns their number. `other` is the extent of the other axis.
fn list_flagged(s: Step, b: Value, flags: u32, other: u32, lid: u32) -> u32 {
    let part = part_of(flags, lid);
    var count = 0u;
    for (var i = part.x; i < part.y; i += 1u) {
        count += u32(cell(b, i) != 0);
    }
    let sum = sums(count, lid);
    if other > 0u && fits(sum.y, other, s.capacity) {
        var at = s.scratch + sum.x;
        for (var i = part.x; i < part.y; i += 1u) {
            if cell(b, i) != 0 {
                arena[at] = i;
                at += 1u;
            }
        }
    }
    storageBarrier();
    return sum.y;
}

// SORT: lists the rows in the order of their keys.
fn list_sorted(s: Step, b: Value, rows: u32, lid: u32) {
    for (var i = lid; i < rows; i += WG) {
        let key = cell(b, i);
        var before = 0u;
        for (var k = 0u; k < rows; k += 1u) {
            let other = cell(b, k);
            before += u32(select(other < key, key < other, s.numbers.x != 0u) || (other == key && k < i));
        }
        arena[s.scratch + before] = i;
    }
    storageBarrier();
}

fn execute(index: u32, record: u32, lid: u32) {
    let at = p.steps_at + 16u * index;
    let base = samples[record];
    let unit = samples[record + 1u];
    let operands = code[at + 13u];
    let capacity = code[at + 5u] * unit + code[at + 6u];
    let out = code[at + 3u] * unit + code[at + 4u];
    let cells_at = base + out + 4u;
    let s = Step(code[at], vec2(code[at + 1u], code[at + 2u]), capacity, cells_at, cells_at + capacity);

    let nothing = Value(STATE_VALID, 0u, 0u, 0u);
    var a = nothing;
    var b = nothing;
    var c = nothing;
    if operands > 0u {
        a = value_at(base + code[at + 7u] * unit + code[at + 8u]);
    }
    if operands > 1u {
        b = value_at(base + code[at + 9u] * unit + code[at + 10u]);
    }
    if operands > 2u {
        c = value_at(base + code[at + 11u] * unit + code[at + 12u]);
    }
    if s.opcode == OR_ELSE {
        if a.state != STATE_VALID {
            a = b;
        }
        b = nothing;
    }
    var state = select(a.state, STATE_VALID, s.opcode == VALID);
    if state == STATE_VALID {
        state = select(c.state, b.state, b.state != STATE_VALID);
    }
    var shape = Shape(0u, 0u, vec4<i32>(), 0);
    if state == STATE_VALID {
        shape = shape_of(s, record, a, b, c);
        if shape.rows == NONE {
            state = STATE_INVALID;
        } else if !fits(shape.rows, shape.columns, s.capacity) {
            state = STATE_OVERFLOW;
        }
    }

    // Whether cells follow from cell_of, and whether these can make the result invalid.
    var each = true;
    var checked = false;
    let valid = state == STATE_VALID;
    let cells = select(0u, a.rows * a.columns, valid);
    switch s.opcode {
        case COMBINE: {
            checked = s.numbers.x == DIVIDE || s.numbers.x == REMAINDER;
        }
        case LOOKUP: {
            checked = true;
        }
        case LABEL, FILL_HOLES: {
            components(s, a, shape.given.x, shape.value, valid, lid);
            each = false;
        }
        case REGIONS: {
            let found = describe(s, a, b, cells, lid);
            if valid {
                state = found.x;
                shape.rows = found.y;
            }
            each = false;
        }
        case HISTOGRAM, PALETTE: {
            let found = count_values(s, a, cells, valid, lid);
            if valid {
                if found.y != 0u {
                    state = STATE_INVALID;
                } else if s.opcode == PALETTE {
                    shape.columns = found.x;
                    if found.x > s.capacity {
                        state = STATE_OVERFLOW;
                    }
                }
            }
            each = false;
        }
        case REDUCE: {
            if s.numbers.y == 2u {
                var sum = vec4(neutral(s.numbers.x));
                for (var i = lid; i < cells; i += WG) {
                    sum = folded(s.numbers.x, sum, vec4(cell(a, i)));
                }
                shape.given = total(s.numbers.x, sum, lid);
            }
        }
        case PLACE: {
            shape.given.x = place_of(s, a, cells, lid);
        }
        case BOX: {
            shape.given = box_of(a, cells, lid);
            if valid {
                shape.rows = 1u;
                state = select(state, STATE_OVERFLOW, s.capacity < 4u);
                state = select(state, STATE_INVALID, shape.given.x == i32(MOST));
            }
        }
        case COMPACT: {
            let by_row = s.numbers.x == 0u;
            let flags = select(0u, select(a.columns, a.rows, by_row), valid);
            let other = select(a.rows, a.columns, by_row);
            let count = list_flagged(s, b, flags, other, lid);
            if valid {
                shape.rows = select(a.rows, count, by_row);
                shape.columns = select(count, a.columns, by_row);
                if !fits(shape.rows, shape.columns, s.capacity) {
                    state = STATE_OVERFLOW;
                }
            }
        }
        case SORT: {
            list_sorted(s, b, select(0u, a.rows, cells > 0u), lid);
        }
        case PERIOD: {
            shape.given.x = period_of(s, a, valid, lid);
        }
        case SAME: {
            shape.given.x = i32(are_same(a, b, cells, lid));
        }
        case SCAN: {
            if cells > 0u {
                scan(s, a, lid);
            }
            each = false;
        }
        default: {}
    }

    let results_at = samples[record + 2u] + out;
    if each && state == STATE_VALID {
        let all = shape.rows * shape.columns;
        var bad = 0;
        for (var i = lid; i < all; i += WG) {
            let found = cell_of(s, record, a, b, c, shape, i);
            bad |= found.y;
            if s.opcode == OUTPUT {
                results[results_at + 3u + i] = bitcast<u32>(found.x);
            } else {
                set_cell(s, i, found.x);
            }
        }
        if bad != 0 {
            state = STATE_INVALID;
        }
    }
    if checked {
        // An invocation that found an invalid cell has state 0; others have a state that all agree on.
        state = u32(total(SMALLEST, vec4(i32(state)), lid).x);
    }
    if lid == 0u {
        let known = state == STATE_VALID;
        let header = vec3(state, select(0u, shape.rows, known), select(0u, shape.columns, known));
        if s.opcode == OUTPUT {
            results[results_at] = header.x;
            results[results_at + 1u] = header.y;
            results[results_at + 2u] = header.z;
        } else {
            arena[cells_at - 4u] = header.x;
            arena[cells_at - 3u] = header.y;
            arena[cells_at - 2u] = header.z;
        }
    }
}

#main {
    let element = group / p.segments;
    let segment = group - element * p.segments;
    let first = code[p.segments_at + 2u * segment];
    let end = first + code[p.segments_at + 2u * segment + 1u];
    for (var index = first; index < end; index += 1u) {
        execute(index, p.x_base + element * p.record, lid);
        synchronize();
    }
}
