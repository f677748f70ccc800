#!/usr/bin/env bash
# Changes one thing in a kernel, runs the trials that should notice on the GPU, and says whether they did.
#
#     tests/mutants.sh [PATTERN]      only mutants whose line contains PATTERN
#
# A line may name flags behind the stem, which a variant must have, or not have (!FLAG). A line is skipped where the device has
# not what its trials need, so that they are ignored, and one with flags where they run no variant that has them.
#
# Works on a copy in target/mutants, whose assembler changes the text of a kernel as the environment says; it is built
# once, apart from everything else. A mutant that survives is a test that is missing, or changes nothing that matters:
# then it does not belong in the list. Needs a Vulkan driver; a software one will do.
set -euo pipefail
cd "$(dirname "$0")/.."

tree=target/mutants/tree
rm -rf "$tree"
mkdir -p "$tree"
git ls-files -co --exclude-standard | while read -r file; do
    if [ -f "$file" ]; then cp --parents "$file" "$tree"; fi
done

# Stands before the first `Ok(out)`, the end of assemble().
mutation='
    let mutant = std::env::var("VSLA_MUTANT").unwrap_or_default();
    let mut parts = mutant.split(" @ ");
    if let (Some(variants), Some(from), Some(to)) = (parts.next(), parts.next(), parts.next()) {
        let mut words = variants.split(" ");
        let has = |flag: &str| flags.contains(&flag.trim_start_matches("!")) != flag.starts_with("!");
        if words.next() == Some(kernel.stem) && words.all(has) && out.contains(from) {
            eprintln!("FOUND");
            out = out.replacen(from, to, 1) + "// mutated";
        }
    }'
mutation=$mutation awk '/^    Ok\(out\)$/ && !done { print ENVIRON["mutation"]; done = 1 } { print }' \
    src/gpu/assembler.rs > "$tree/src/gpu/assembler.rs"

sed -i '/let source = assemble(/a if source.ends_with("// mutated") { eprintln!("COMPILED"); }' "$tree/src/gpu/pipelines.rs"

# A target directory of its own: cargo must not take this build for one of the real tree.
suite=$(cd "$tree" && CARGO_TARGET_DIR=../build cargo test --test suite --no-run 2>&1 |
    tee /dev/stderr | sed -n 's/.*Executable.*(\(.*\))$/\1/p')

killed=0 survived=0 skipped=0 missing=0
declare -A unchanged
log=$(mktemp)
trap 'rm -f "$log"' EXIT

# Runs the trials until one fails, and says how that ended: failed, passed or ignored.
run_trials() {
    : > "$log"
    (cd "$tree" && exec env VSLA_REQUIRE_GPU=1 VSLA_MUTANT="$2" timeout 300 "$suite" "$1") > "$log" 2>&1 &
    local pid=$!
    while kill -0 "$pid" 2> /dev/null && ! grep -q '\.\.\. FAILED' "$log"; do sleep 0.1; done
    kill "$pid" 2> /dev/null || true
    if ! wait "$pid"; then
        echo failed
    elif grep -q '\.\.\. ok' "$log"; then
        echo passed
    else
        echo ignored
    fi
}

# kernel stem and flags @ what stands there @ what is put there instead @ the trials
while IFS= read -r line; do
    if [[ -z $line || $line == \#* || $line != *"${1:-}"* ]]; then continue; fi
    filter=${line##* @ }
    if [[ -z ${unchanged[$filter]:-} ]]; then unchanged[$filter]=$(run_trials "$filter" ""); fi
    # Trials that fail anyway kill nothing.
    if [ "${unchanged[$filter]}" = failed ]; then echo "$filter fails unchanged"; exit 1; fi
    outcome=$(run_trials "$filter" "${line% @ *}")
    if ! grep -q FOUND "$log"; then
        outcome="NOT FOUND"; missing=$((missing + 1))
    elif grep -q COMPILED "$log"; then
        case $outcome in
            failed) outcome=killed; killed=$((killed + 1)) ;;
            *) outcome=SURVIVED; survived=$((survived + 1)) ;;
        esac
    elif [[ $outcome == ignored || ${line%% @ *} == *" "* ]]; then
        outcome=skipped; skipped=$((skipped + 1))
    else
        outcome="NOT RUN"; missing=$((missing + 1))
    fi
    printf '%-12s %s\n' "$outcome" "$line"
done <<'MUTANTS'
ambient @ v + 4u <= end @ v + 3u <= end @ add::gpu
ambient @ while u >= end @ while u > end @ add::gpu
ambient @ vec2(min(lengths.x, lengths.y)) @ vec2(max(lengths.x, lengths.y)) @ hadamard::gpu
ambient @ i + 2u, i + 3u) < @ i + 2u, i + 2u) < @ add::gpu
ambient @ let j = i + 4u * WG @ let j = i + 2u * WG @ device::gpu::recording
ambient @ if q + WG < end @ if q + WG + 1u < end @ device::gpu::recording
ambient @ sh_count = SPAN + 1u @ sh_count = SPAN @ add::gpu
ambient @ sh_start[SPAN] = e_end @ sh_start[SPAN] = e_start @ add::gpu
ambient @ c_meta[here] <= v @ c_meta[here] < v @ add::gpu
ambient @ (high - low + WG - 1u) @ (high - low + WG - 2u) @ add::gpu
ambient @ wid.y * count.x @ wid.y * count.y @ add::gpu
ambient @ return p.first_group + @ return @ device::gpu::limits
ambient @ i / p.pair_right, i % p.pair_right @ i % p.pair_right, i / p.pair_right @ add::gpu::pairings
ambient @ vec2(0u, i) @ vec2(i, 0u) @ add::gpu::pairings
ambient @ pair_list[2u * i + 1u] @ pair_list[2u * i] @ add::gpu::pairings
ambient @ i + 4u <= entry.z @ i + 3u <= entry.z @ concat::gpu::every_end
ambient @ i + 4u - entry.z @ i + 3u - entry.z @ concat::gpu::every_end
ambient @ let j = i - entry.at.z @ let j = i @ concat::gpu::every_end
ambient @ return b_run(entry.y, i - entry.z @ return b_run(entry.y, i @ concat::gpu::every_end
ambient_boxes @ >> axis) & 1u) != 0u @ >> axis) & 1u) == 0u @ concat::gpu::every_axis
ambient_boxes @ in_right(along, extents.y, 1u) @ in_right(along, extents.y, 0u) @ concat::gpu::every_axis
ambient_boxes @ in_right(along, a_extent, axis) @ in_right(along, a_extent, 0u) @ concat::gpu::every_axis
ambient_boxes @ last - first + 1u @ last - first @ add::gpu
ambient_boxes @ tile) <= v @ tile) < v @ add::gpu
ambient_boxes @ row < extents.x @ row <= extents.x @ add::gpu
ambient_boxes @ along < extents.w @ along <= extents.w @ add::gpu
ambient_boxes @ i - row * width >= width @ i - row * width > width @ add::gpu
ambient_boxes @ along < a_extent @ along <= a_extent @ add::gpu
ambient_boxes @ rest < b_meta[ @ rest <= b_meta[ @ add::gpu
ambient_boxes @ a_stride *= a_extent @ a_stride *= b_extent @ add::gpu
ambient_boxes @ tile.start + lid; v < tile.end @ tile.start + lid; v <= tile.end @ add::gpu
ambient @ let in_a = i < entry.at.z @ let in_a = i <= entry.at.z @ functions::gpu::in_every_shape
ambient @ let in_b = j < entry.at.w @ let in_b = j <= entry.at.w @ functions::gpu::in_every_shape
ambient @ < vec4(entry.w) @ <= vec4(entry.w) @ functions::gpu::in_every_shape
ambient_boxes @ v + 1u, tile)) << 16u @ v + 1u, tile)) << 15u @ functions::gpu::in_every_shape
ambient_boxes @ word >> (16u @ word >> (0u @ functions::gpu::in_every_shape
broadcast @ inner *= c_meta[extents + k] @ inner += c_meta[extents + k] @ functions::gpu::spread::along_every_axis
broadcast @ at == spans.y @ at > spans.y @ functions::gpu::spread::along_every_axis
broadcast @ within == spans.x @ within > spans.x @ functions::gpu::spread::along_every_axis
broadcast @ (i / spans.x) % spans.y @ i % spans.y @ functions::gpu::spread::along_every_axis
broadcast @ (mode & ONE) != 0u @ (mode & ONE) == 0u @ functions::gpu::spread::one_for_all
broadcast @ if v + 4u <= end @ if v + 3u <= end @ functions::gpu::spread::each
ambient_flat @ p.total + 3u @ p.total + 2u @ add::gpu
ambient_flat @ vec4(low.zw, high.xy) @ vec4(low.zw, high.yx) @ device::gpu::views
ambient_flat @ at + 1u, arrayLength(&a) @ at, arrayLength(&a) @ device::gpu::views
map @ p.total + 3u @ p.total + 2u @ map::gpu
map @ shift = base % 4u @ shift = base % 2u @ map::gpu
map @ p.x_base % 2u == 0u @ true @ half::gpu
map @ vec4(low.w, high.xyz) @ vec4(low.w, high.xyy) @ map::gpu
map @ ^ vec4(0x80000000u) @ ^ vec4(0x80000001u) @ map::gpu::neg
map @ -x_quad(q) @ x_quad(q) @ map::gpu::neg
fill @ p.total + 3u @ p.total + 2u @ map::gpu
fill @ group * (STREAM_TILE / 4u) @ group * (STREAM_TILE / 4u - 1u) @ map::gpu
conv_direct @ if k >= o.m @ if k > o.m @ conv::gpu
conv_direct @ o.m - 1u - k @ o.m - k @ conv::gpu
conv_direct @ o.n - 1u - j @ o.n - j @ conv::gpu
conv_direct @ q0 + 1u - o.m @ q0 + 2u - o.m @ conv::gpu
conv_direct @ min(o.n, q0 + count) @ min(o.n, q0 + count - 1u) @ conv::gpu
conv_direct @ top - j - 4u @ top - j - 3u @ conv::gpu
conv_direct @ at - 5u @ at - 4u @ conv::gpu
conv_direct @ c3 += v6 * t3 @ c3 += v5 * t3 @ conv::gpu
conv_direct @ v3 = v10 @ v3 = v9 @ conv::gpu
conv_direct @ all4 += c4 @ all4 = c4 @ conv::gpu
conv_direct @ v4 = v5; @ v4 = v4; @ conv::gpu
conv_direct @ all5 + c5 @ all5 @ conv::gpu
conv_direct @ pair = pair.yx @ pair = pair.xy @ conv::gpu
conv_direct @ r < sh_count[whose] @ r <= sh_count[whose] @ conv::gpu
conv_direct @ sh_at[whose] + r @ sh_at[whose] @ conv::gpu
kron @ if u < end @ if u <= end @ kron::gpu
kron @ while u >= end @ while u > end @ kron::gpu
kron @ place.j + 1u < entry.n @ place.j + 1u <= entry.n @ kron::gpu
kron @ if place.left == 1u @ if place.left == 2u @ kron::gpu
kron @ if place.rows == 1u @ if place.rows == 2u @ kron::gpu
kron @ rows - b_row @ rows @ kron::gpu
kron @ entry.m - along @ entry.m @ kron::gpu
kron @ a_stride *= m; @ a_stride *= n; @ kron::gpu
kron @ place.left * entry.n - place.j >= 4u @ place.left * entry.n - place.j >= 3u @ kron::gpu
kron @ j + 1u == n) @ j == n) @ kron::gpu
kron @ place = first_place @ let skipped = first_place @ kron::gpu
shape_matmul @ q + 1u - m, q + 1u > m @ q - m, q > m @ shape_matrix::gpu
shape_matmul @ min(n, q + 1u) @ min(n, q) @ shape_matrix::gpu
shape_matmul @ if i < m @ if i <= m @ shape_matrix::gpu
shape_matmul @ j * entry.columns @ j @ shape_matrix::gpu
spectral_matmul @ vec4(-a.y) @ vec4(a.y) @ shape_matrix::gpu
spectral_matmul @ list[record + 3u], f, s2 @ list[record + 2u], f, s2 @ shape_matrix::gpu
spectral_matmul @ let there = b_at != vec4(NONE) @ let there = vec4<bool>(true) @ shape_matrix::gpu
spectral_matmul @ if p.add != 0u @ if p.add > 1u @ shape_matrix::gpu
zero_pad @ if i < piece.y @ if i <= piece.y @ shape_matrix::gpu
conv_boxes @ f + 1u > m) @ f > m) @ conv_boxes::gpu::modes
conv_boxes @ if row >= m { @ if row > m { @ conv_boxes::gpu::modes
conv_boxes @ (n - 1u) / 2u @ n / 2u @ conv_boxes::gpu::modes::same
conv_boxes @ return n - 1u; @ return n; @ conv_boxes::gpu::modes::valid
conv_boxes @ strips = (r.y + R - 1u) @ strips = (r.y + R - 2u) @ conv_boxes::gpu::modes
conv_boxes @ n.x * n.y * n.z - 1u @ n.x * n.y * n.z @ conv_boxes::gpu::correlate
conv_boxes @ min(n.z, f2 + 1u) @ min(n.z, f2) @ conv_boxes::gpu::modes
conv_boxes @ c6 += v4 * y2 @ c6 += v3 * y2 @ conv_boxes::gpu::modes
conv_boxes @ v4 = u0; @ v4 = u1; @ conv_boxes::gpu::modes
conv_boxes @ row + 3u * s) @ row + 2u * s) @ conv_boxes::gpu::modes
conv_boxes @ all5 += c5; @ all5 = c5; @ conv_boxes::gpu::many_taps
conv_boxes @ if i < results @ if i <= results @ conv_boxes::gpu::modes
conv_boxes @ p.stride_2 * column @ p.stride_1 * column @ conv_boxes::gpu::modes
conv_place @ if all(at < last.yzw) @ if all(at <= last.yzw) @ conv_boxes::gpu::modes
conv_place @ at.x * more.x @ at.x * more.y @ conv_boxes::gpu::modes
conv_place @ more.w + p.stride_1 @ more.z + p.stride_1 @ conv_boxes::gpu::modes
conv_place @ p.from_base + head.w @ head.w @ conv_boxes::gpu::fft
conv_direct @ r0 + first_of( @ first_of( @ conv_boxes::gpu::modes
eval @ k >= begin + 4u @ k >= begin + 3u @ eval::gpu
eval @ let x3 = x[k - 3u] @ let x3 = x[k - 2u] @ eval::gpu
eval @ k > begin; k -= 1u @ k > begin + 1u; k -= 1u @ eval::gpu
eval @ x[k]; @ x[k] * t; @ eval::gpu
eval @ y_meta[pair.y] + i @ y_meta[pair.y] @ eval::gpu
correlate_max @ sh_x[x + 9u] @ sh_x[x + 8u] @ correlate_max::gpu
correlate_max @ sh_y[s + 6u] @ sh_y[s + 5u] @ correlate_max::gpu
correlate_max @ c3 += w6 * t @ c3 += w5 * t @ correlate_max::gpu
correlate_max @ q0 + 1u - w.m @ q0 + 2u - w.m @ correlate_max::gpu
correlate_max @ min(w.n, q0 + tile) @ min(w.n, q0 + tile - 1u) @ correlate_max::gpu
correlate_max @ if j < end @ if j <= end @ correlate_max::gpu
correlate_max @ skipped / BLOCK * BLOCK @ (skipped / BLOCK + 1u) * BLOCK @ correlate_max::gpu
correlate_max @ i >= i32(w.m) @ i > i32(w.m) @ correlate_max::gpu
correlate_max @ w.n - 1u - j @ w.n - j @ correlate_max::gpu
correlate_max @ w.m - 1u - k @ w.m - k @ correlate_max::gpu
correlate_max @ chunk[5] += c5 @ chunk[5] += c4 @ correlate_max::gpu
correlate_max @ all[6] += chunk[6] @ all[6] = chunk[6] @ correlate_max::gpu
correlate_max @ q0 / TILE @ q0 / (TILE + 1u) @ correlate_max::gpu
correlate_max @ if q < length @ if q <= length @ correlate_max::gpu
correlate_max @ y.value > x.value @ y.value < x.value @ correlate_max::gpu
correlate_max @ y.index < x.index @ y.index > x.index @ correlate_max::gpu
correlate_max @ y_nan && !x_nan @ x_nan && !y_nan @ correlate_max::gpu
correlate_max @ > 0x7f800000u @ >= 0x7f800000u @ correlate_max::gpu
correlate_max @ half = WG / 2u @ half = WG / 4u @ correlate_max::gpu
correlate_max @ const ALIKE = 0.7 @ const ALIKE = 2.0 @ sbd::gpu
correlate_max @ sh_rivals_seen > RIVALS @ sh_rivals_seen > 2000u @ sbd::gpu
correlate_max @ i32(b_len) + lag @ i32(b_len) @ sbd::gpu
correlate_max @ min(0, lag) + i32(lid) @ i32(lid) @ sbd::gpu
correlate_max @ winner.value -= 1.0 @ winner.value -= 1.00001 @ sbd::gpu
correlate_max @ 1.0 + sqrt(1.0 - sine2) @ 2.0 @ sbd::gpu
correlate_max_finish @ b_len - 1u @ b_len @ correlate_max::gpu
correlate_max_finish @ end = starts[pair + 1u] @ end = starts[pair + 1u] - 1u @ correlate_max::gpu
correlate_max_finish @ -2147483647 - 1 @ -2147483647 @ correlate_max::gpu
correlate_max_finish @ value[pair] = 1.0 @ value[pair] = 0.0 @ sbd::gpu
correlate_max_finish @ value[pair] = -best.value @ value[pair] = best.value @ sbd::gpu
correlate_max_finish @ pair_of(pair).y @ pair_of(pair).x @ correlate_max::gpu
correlate_max_finish @ y.index < x.index @ y.index > x.index @ correlate_max::gpu
normalize @ 0x7fffffffu @ 0x007fffffu @ sbd::gpu
normalize @ 1u, 253u @ 1u, 254u @ sbd::gpu
normalize @ half = WG / 2u @ half = WG / 4u @ sbd::gpu
lines @ p.x_base + line.begin @ line.begin @ lines::gpu
lines @ (number - before * step) @ number @ lines::gpu
lines APART EXP @ top = max(top, order_key @ top = min(top, order_key @ lines::gpu
lines HELD EXP @ var top = top4(a, k, end, lanes) @ var top = top4(b, k1, end, lanes) @ lines::gpu
lines APART EXP @ x[base + k * line.step] - shift @ x[base + k * line.step] @ lines::gpu
lines MOMENTS @ fma(-sums.x, rest, sums.y) @ sums.y @ lines::gpu
lines MOMENTS @ return vec4(near, rest @ return vec4(near, 0.0 @ lines::gpu
lines @ out[of_lines[e] + number] @ out[of_lines[e]] @ lines::gpu
lines APPLY @ items[4u * group + 3u] @ 0u @ lines::gpu
lines_parts @ begin + TILE, line.count @ begin + TILE - 1u, line.count @ lines::gpu
lines_finish MOMENTS @ d * d * (a.w * share) @ d * d * share @ lines::gpu
lines_finish MOMENTS @ opaque(b.x - a.x) + (b.y - a.y) @ b.x - a.x @ lines::gpu
lines_finish EXP @ b.y * weight(top, b.x) @ b.y @ lines::gpu
lines_finish @ tile += WG @ tile += 2u * WG @ lines::gpu::far_from_zero
reduce @ if item.size <= SHORT @ if item.size < SHORT @ reduce::gpu
reduce @ i + 3u * step < end @ i + 2u * step < end @ reduce::gpu
reduce @ i + 2u * step); @ i + 1u * step); @ reduce::gpu
reduce @ key == 0x7fffffffu @ key == 0x7ffffffeu @ reduce::gpu
reduce @ y.x == x.x && y.y < x.y @ y.x == x.x && y.y > x.y @ reduce::gpu
reduce @ 0xffffffffu; @ 0u; @ reduce::gpu
reduce @ const LOWEST_KEY = 0x007fffffu @ const LOWEST_KEY = 0x00800000u @ reduce::gpu
reduce @ acc + abs(x) @ acc + x @ reduce::gpu::norm1
reduce @ abs(bitcast<i32>(x)) @ bitcast<i32>(x) @ reduce::gpu::norm1
reduce_tiles @ acc + abs(x) @ acc + x @ reduce::gpu::norm1
reduce @ (x & 0x7fffffffu) == 0u @ x == 0u @ minimal_shape::gpu::special
reduce @ rest - quotient * extent + 1u @ rest - quotient * extent @ minimal_shape::gpu::of_few
reduce @ ends.low.w, ends.high.xyz @ ends.low.z, ends.high.xyz @ minimal_shape::gpu::of_few
reduce @ ends.high.yzw, 0u @ ends.high.xyz, 0u @ minimal_shape::gpu::of_few
reduce_tiles @ p.a_elements + 1u + e * p.rank @ p.a_elements + e * p.rank @ minimal_shape::gpu::a_lone
reduce_finish @ max(x.high, y.high) @ x.high @ minimal_shape::gpu::of_few
reduce_finish @ out[e * p.rank + axis] @ out[e + axis] @ minimal_shape::gpu::a_lone
reduce @ apart <= 63u @ apart <= 3u @ reduce::gpu
reduce @ 255u - norm_exponent @ 254u - norm_exponent @ reduce::gpu
reduce_tiles @ first + TILE, item.size @ first + TILE - 1u, item.size @ reduce::gpu
reduce_tiles @ slot == NO_SLOT @ slot == NO_SLOT - 1u @ reduce::gpu
reduce_pair @ i < item.a_size @ i <= item.a_size @ reduce::gpu
reduce_pair @ min(a_size, b_size) @ max(a_size, b_size) @ reduce::gpu
reduce_pair @ along < a_extent @ along <= a_extent @ reduce::gpu
reduce_pair @ x == y && number @ x == y @ reduce::gpu
reduce_pair @ rest < b_meta[ @ rest <= b_meta[ @ reduce::gpu
reduce_pair_tiles @ first + lid @ first + lid + 1u @ reduce::gpu
reduce_finish @ min(block + CHAIN * WG, slots) @ min(block + CHAIN, slots) @ reduce::gpu
reduce_finish @ block = lid; block < slots @ block = lid; block < slots - 1u @ reduce::gpu
bsr_matmul @ min(w0.left, w1.left) >= HALF @ w0.left >= HALF @ bsr::gpu
bsr_matmul @ min(all - min(all, first), 4u) @ 4u @ bsr::gpu
bsr_matmul @ ((t.a | t.b | @ ((t.a | @ bsr::gpu
bsr_matmul @ if within == p.block_wide @ if within > p.block_wide @ bsr::gpu
bsr_matmul @ step % steps * 4u @ step % steps * 8u @ bsr::gpu
bsr_matmul @ all += sh_sums[other @ all = sh_sums[other @ bsr::gpu
bsr_matmul @ vec4(0u), a_along) < vec4(left) @ vec4(0u), a_along) <= vec4(left) @ bsr::gpu
bsr_matmul @ if left == 0u { @ if left <= 4u { @ bsr::gpu
matmul @ min(o.n - column, 4u) @ min(o.n - column, 3u) @ matmul::gpu
matmul @ row >= o.m || column @ row > o.m || column @ matmul::gpu
matmul @ let first = begin == 0u @ let first = true @ matmul::gpu
matmul @ y += c[at >> 2u] @ y = c[at >> 2u] @ matmul::gpu
matmul @ y += present(at, count) @ y = present(at, count) @ matmul::gpu
matmul @ s0_0 += c[ @ s0_0 = c[ @ matmul::gpu
matmul @ column0 + 128u <= o.n @ column0 <= o.n @ matmul::gpu
matmul @ vec4<E>(), false, true @ vec4<E>(), true, true @ matmul::gpu
matmul @ count == 4u && (at & 3u) == 0u @ count == 4u @ matmul::gpu
matmul @ o.bias + columns @ columns @ matmul::gpu
matmul @ o.residual + row * o.n @ row * o.n @ matmul::gpu
matmul @ block * (turn + 1u), o.k) @ block * (turn + 2u), o.k) @ matmul::gpu::native
matmul @ all += sh_sums[other @ all = sh_sums[other @ matmul::gpu::native
matmul @ select(o.a_stride, 0u, o.m == 1u) @ 0u @ matmul::gpu::native
matmul @ select(o.b_stride, 0u, o.n == 1u) @ 0u @ matmul::gpu::native
matmul @ begin += block * 64u @ begin += block * 32u @ matmul::gpu::native
matmul @ begin += block * 16u @ begin += block * 32u @ matmul::gpu::native
matmul @ all0_0 += s0_0 @ all0_0 = s0_0 @ matmul::gpu::native
transpose @ p.x_base / WORDS + tile.x @ tile.x @ shapes::gpu::turned
transpose @ left + s < columns && top + u < rows @ left + s < columns @ shapes::gpu::turned
transpose @ tile.w % across @ tile.w / across @ shapes::gpu::turned
transpose @ columns + SIDE - 1u @ columns @ shapes::gpu::turned
transpose @ sh_tile[u * (SIDE @ sh_tile[s * (SIDE @ shapes::gpu::turned
convert @ size > 0x7F800000u @ size >= 0x7F800000u @ half::gpu
convert @ + ((moved >> 13u) & 1u) @ + 1u @ half::gpu
convert @ exponent < 102u @ exponent < 103u @ half::gpu
convert @ - 1u + ((mantissa >> cut) & 1u) @ - 1u @ half::gpu
convert @ size >= 0x7C00u @ size > 0x7C00u @ half::gpu
convert @ size < 0x400u @ size < 0x3FFu @ half::gpu
convert @ half & 0x8000u) << 16u @ half & 0x8000u) << 15u @ half::gpu
convert @ at % 2u != 0u @ false @ half::gpu
convert @ (word(at + 3u)) << 16u @ (word(at + 2u)) << 16u @ half::gpu
convert @ p.total + 3u @ p.total @ half::gpu
gather @ k + QUAD <= entry.z @ k + QUAD <= entry.z + 1u @ gather::gpu
gather @ if source >= entry.y @ if source > entry.y @ gather::gpu
gather @ if source < entry.y @ if source <= entry.y @ gather::gpu
gather @ while u + lane >= end @ while u + lane > end @ gather::gpu
gather @ if k == entry.z @ if k > entry.z @ gather::gpu
gather @ const VALUE = 2u @ const VALUE = 1u @ gather::gpu
gather @ 16u * (at % 2u) @ 16u * (at / 2u % 2u) @ gather::gpu
gather @ if at % 2u == 0u @ if at % 4u == 0u @ gather::gpu
gather @ at / 4u + 1u, last @ at / 4u, last @ gather::gpu
gather @ p.x_base + x_start @ x_start @ gather::gpu
gather @ if q + WG < end @ if q + WG + 1u < end @ gather::gpu
gather @ index_meta[pair.y + 1u] - list @ index_meta[pair.y + 1u] @ gather::gpu
select @ if k + QUAD <= entry.z @ if k + QUAD <= entry.z + 1u @ elements::gpu
select @ while u + lane >= end @ while u + lane > end @ elements::gpu
select @ x_meta[list[e] + 1u] - start @ x_meta[list[e] + 1u] @ elements::gpu
select @ 0xFFFF0000u >> shift @ 0u @ elements::gpu
join @ q * QUAD < p.begin @ q * QUAD + 1u < p.begin @ elements::gpu
join @ lane = p.begin % QUAD @ lane = p.begin % QUAD + 1u @ elements::gpu
join @ p.end + QUAD - 1u @ p.end @ elements::gpu
join @ p.x_base + q * QUAD @ q * QUAD @ elements::gpu
join @ 0xFFFF0000u >> shift @ 0u @ elements::gpu
scatter_add @ k + 4u <= entry.y @ k + 4u <= entry.y + 1u @ scatter::gpu
scatter_add @ (source ^ SUMS) + k @ (source ^ SUMS) @ scatter::gpu
scatter_add @ min(first + EIGHT, end) @ first + EIGHT @ scatter::gpu
scatter_add @ first += EIGHT @ first += 7u @ scatter::gpu
scatter_add @ all += eight @ all = eight @ scatter::gpu
scatter_add @ if first == start @ if first != start @ scatter::gpu
scatter_add @ entry.x + row, k @ row, k @ scatter::gpu
scatter_add @ p.y_base + source @ source @ scatter::gpu
scatter_add @ while v + lane >= end @ while v + lane > end @ scatter::gpu
scatter_add @ if k == entry.y @ if k > entry.y @ scatter::gpu
strided @ e / p.size * p.stride @ e / p.size @ stacking::gpu
strided @ source >= p.x_elements @ source > p.x_elements @ stacking::gpu
strided_boxes @ e % p.size @ e / p.size @ stacking::gpu
strided_boxes @ there == 1 && @ there == 2 && @ shapes::gpu::broadcasts
strided_boxes @ p.along >> (4u * axis) @ p.along >> (3u * axis) @ shapes::gpu::transposed
strided @ p.shift >= i32(x_rows) @ p.shift <= i32(x_rows) @ shapes::gpu
strided @ width = c_meta[p.elements + 2u @ width = c_meta[p.elements + 1u @ shapes::gpu
strided @ p.shift * i32(width @ p.shift * i32(1u @ shapes::gpu
strided @ clamp(q, 0, @ clamp(q, 1, @ shapes::gpu
strided @ (at >> 2u) + 1), u32 @ (at >> 2u)), u32 @ shapes::gpu
strided @ length - i32(UNITS) - i32(i) @ length - i32(i) @ shapes::gpu
strided @ j <= -i32(UNITS) @ j <= 0 @ shapes::gpu
strided @ units < vec4(length) @ units <= vec4(length) @ shapes::gpu
strided @ low < vec4(length) @ low <= vec4(length) @ shapes::gpu
strided @ high >= vec4(0) @ high > vec4(0) @ shapes::gpu
strided @ (at & 1) != 0 @ (at & 1) == 0 @ shapes::gpu
strided @ values.zwxy, values.wzyx @ values.wzyx, values.wzyx @ shapes::gpu
strided @ (back << vec4(16u)) @ (back >> vec4(16u)) @ shapes::gpu
strided @ j >= i32(entry.y) @ j > i32(entry.y) @ shapes::gpu
strided @ + 2 * i32(part) @ + i32(part) @ shapes::gpu
strided @ u + UNITS <= end @ u + UNITS <= end + 1u @ shapes::gpu
strided @ while u + k >= end @ while u + k > end @ shapes::gpu
strided @ (q + WG) - start @ q - start @ shapes::gpu
strided_boxes @ max(0, -shift) @ 0 @ shapes::gpu
strided_boxes @ there - shift) - first @ there) - first @ shapes::gpu
strided_boxes @ u32((there - 1) * stride) @ u32(there * stride) @ shapes::gpu
strided_boxes @ step = -stride @ step = stride @ shapes::gpu
strided_boxes @ u32(shift * stride) @ u32(shift) @ shapes::gpu
strided_boxes @ stride *= there @ stride *= extent @ shapes::gpu
strided_boxes @ k - across.y < across.z @ k - across.y <= across.z @ shapes::gpu
strided_boxes @ k - axis.y < axis.z @ k < axis.z @ shapes::gpu
strided_boxes @ rest - down.y < down.z @ rest < down.z @ shapes::gpu
strided_boxes @ p.x_base / 2u @ p.x_base @ shapes::gpu
strided_boxes @ i % 2u * 16u @ 0u @ shapes::gpu
strided_boxes @ 2u * w + 1u < tile.end @ 2u * w + 2u < tile.end @ shapes::gpu
bsr_finish @ s < order[heavy].y @ s + 1u < order[heavy].y @ bsr::gpu::heavy
bsr_finish @ order[heavy].x * p.block_high + low @ order[heavy].x * p.block_high @ bsr::gpu::heavy
bsr_finish @ i < STRIP && @ i < STRIP - 1u && @ bsr::gpu::heavy
bsr_finish @ var sum = c[at] @ var sum = 0.0 @ bsr::gpu::heavy
bsr_finish @ column >= x.w @ column > x.w @ bsr::gpu::heavy
bsr_finish @ slot * size @ 0u * size @ bsr::gpu::heavy
bsr_epilogue @ (at - place.x) % place.y @ at % place.y @ bsr::gpu::epilogue
bsr_epilogue @ p.bias_base + place.z @ place.z @ bsr::gpu::epilogue
bsr_epilogue @ place.z + (at @ (at @ bsr::gpu::epilogue
bsr_epilogue @ residual_value(p.residual_base + at) @ residual_value(at) @ bsr::gpu::epilogue
bsr_epilogue @ product += 1u @ product += 0u @ bsr::gpu::epilogue
bsr_epilogue @ value < 0.0 @ value < 1.0 @ bsr::gpu::epilogue
bsr_epilogue @ value *= p.scale @ value += p.scale @ bsr::gpu::epilogue
bsr_epilogue @ product + 1u < p.products @ product + 2u < p.products @ bsr::gpu::epilogue
bsr_epilogue @ rounded(bits.w) @ rounded(bits.z) @ bsr::gpu::epilogue
conv_cached @ if at < item.write @ if at <= item.write @ conv_plan::gpu
conv_cached @ p.a_base + x.x @ x.x @ conv_plan::gpu
conv_cached @ if i >= p.items @ if i > p.items @ conv_plan::gpu
matmul_matrix @ vec4(n) > vec4(0u, 2u @ vec4(n) >= vec4(0u, 2u @ matmul::gpu::matrix::integers
matmul_matrix @ vec4(1u, 3u, 5u, 7u) @ vec4(0u, 2u, 4u, 6u) @ matmul::gpu::matrix::integers
matmul_matrix @ (at & 1u) != 0u @ (at & 3u) != 0u @ matmul::gpu::matrix::integers
matmul_matrix @ select(behind.x, behind.y, one) @ behind.x @ matmul::gpu::matrix::integers
matmul_matrix @ a[min(at / 8u + 1u, last)] @ a[min(at / 8u, last)] @ matmul::gpu::matrix::integers
matmul_matrix @ b[min(at / 8u + 1u, last)] @ b[min(at / 8u, last)] @ matmul::gpu::matrix::integers
matmul_matrix @ let row = row0 + i / SIDE @ let row = row0 @ matmul::gpu::matrix::integers
matmul_matrix @ sh_c[scratch + i] @ sh_c[scratch] @ matmul::gpu::matrix::integers
matmul_matrix @ max(end, along) - along @ end @ matmul::gpu::matrix::integers
matmul_matrix @ row0 + 4u * i / SIDE @ row0 @ matmul::gpu::matrix::integers
matmul_matrix @ column0 + 4u * i % SIDE @ column0 @ matmul::gpu::matrix::integers
matmul_matrix @ sh_c[i + 2u] @ sh_c[i + 1u] @ matmul::gpu::matrix::integers
matmul_matrix @ } else if rest { @ } else if !rest { @ matmul::gpu::matrix::integers
matmul_matrix EIGHT !LOOSE @ if n * 16u + 8u * a_unit0 < o.k @ if n * 16u + 8u * a_unit0 <= o.k @ matmul::gpu::matrix::integers
matmul_matrix EIGHT !LOOSE @ if n * 16u + b_row0 < o.k @ if n * 16u + b_row0 <= o.k @ matmul::gpu::matrix::integers
matmul_matrix T64 !EIGHT !LOOSE @ if stages * 64u + 8u * a_unit0 < o.k @ if stages * 64u + 8u * a_unit0 <= o.k @ matmul::gpu::matrix::integers
matmul_matrix T64 !EIGHT !LOOSE @ if stages * 64u + b_row0 < o.k @ if stages * 64u + b_row0 <= o.k @ matmul::gpu::matrix::integers
matmul_matrix EIGHT LOOSE @ n * 16u + b_row0 < o.k) @ n * 16u + b_row0 <= o.k) @ matmul::gpu::matrix::integers
matmul_matrix T64 !EIGHT LOOSE @ stages * 32u + b_row0 < o.k) @ stages * 32u + b_row0 <= o.k) @ matmul::gpu::matrix::integers
matmul_matrix @ m_b0_0, s0_0); @ m_b0_0, MC()); @ matmul::gpu::matrix::integers
matmul_matrix @ let column_in = (part % 2u) @ let column_in = (part / 2u) @ matmul::gpu::matrix::integers
matmul_matrix @ bias[i / 2u], i @ bias[i / 2u], 0u @ matmul::gpu::matrix::epilogues
matmul_matrix @ residual[i / 2u], i @ residual[i / 2u], i + 1u @ matmul::gpu::matrix::epilogues
matmul_matrix EIGHT @ n == stages && rest @ n == stages && !rest @ matmul::gpu::matrix::integers
matmul_matrix EIGHT @ select(SIDE * SIDE, s.lane @ select(s.lane, s.lane @ matmul::gpu::matrix::integers
matmul_matrix !EIGHT @ if !(rest) @ if rest @ matmul::gpu::matrix::integers
matmul_matrix !EIGHT T256 @ min(n + 1u, @ min(n, @ matmul::gpu::matrix::integers
matmul_matrix @ / 8u, low, high @ / 8u, high, low @ matmul::gpu::matrix::integers
matmul_matrix !EIGHT @ lane / 2u * stride @ lane / 4u * stride @ matmul::gpu::matrix::integers
matmul_matrix !EIGHT @ * stride + lane % 4u @ * stride @ matmul::gpu::matrix::integers
matmul_matrix !EIGHT @ o.n % 4u == 0u && o.c % 4u == 0u @ o.n % 4u == 0u @ matmul::gpu::matrix::integers
matmul_matrix !EIGHT @ (p.epilogue | RESULT) == RESULT; @ true; @ matmul::gpu::matrix::epilogues
matmul_matrix !EIGHT @ column0 + column_in) / 4u @ column_in) / 4u @ matmul::gpu::matrix::integers
bsr_matrix @ let rest = @ let rest = 0u * @ bsr::gpu::matrix::heavy_rows
bsr_matrix @ block0 += whole @ block0 += 0u @ bsr::gpu::matrix::sets
bsr_matrix @ + within0 @ + 0u * within0 @ bsr::gpu::matrix::heavy_rows
bsr_matrix @ entry1.y * p.block_wide + within1 @ entry1.y * p.block_wide @ bsr::gpu::matrix::heavy_rows
bsr_matrix @ step + 1u == t.steps && t.inner @ step + 2u == t.steps && t.inner @ bsr::gpu::matrix::infinities_stay
bsr_matrix @ a0_0 = select(a0_0, vec4<u32>() @ a0_0 = select(a0_0, a0_0 @ bsr::gpu::matrix::infinities_stay
bsr_matrix @ b0_1 = select(b0_1, vec4<u32>() @ b0_1 = select(b0_1, b0_1 @ bsr::gpu::matrix::infinities_stay
bsr_matrix @ (t.c | t.c_pitch) % 4u @ t.c_pitch % 4u @ bsr::gpu::matrix::blocks_16_high
bsr_matrix @ p.long_count + short % @ short % @ bsr::gpu::matrix::heavy_rows
bsr_matrix @ panel = short / @ panel = 0u * short / @ bsr::gpu::matrix::heavy_rows
bsr_matrix @ t.slot - 1u @ 0u * t.slot @ bsr::gpu::matrix::heavy_rows
bsr_matrix @ c_column + column_in @ column_in @ bsr::gpu::matrix::heavy_rows
bsr_matrix @ m_b0_0, s0_0); @ m_b0_0, MC()); @ bsr::gpu::matrix::sets
bsr_matrix !EIGHT @ column += @ column += 0u * @ bsr::gpu::matrix::many_tiles
bsr_matrix !EIGHT !TURNED @ * t.c_pitch + c_column + @ * t.c_pitch + @ bsr::gpu::matrix::many_tiles
bsr_matrix !EIGHT TURNED @ t.c + (c_column + @ t.c + ( @ bsr::gpu::matrix::many_tiles
bsr_matrix !EIGHT @ pack2x16float(high.xy) @ pack2x16float(high.yx) @ bsr::gpu::matrix::sets
bsr_matrix_sampled @ p.wide - min(p.wide, first) @ p.wide @ bsr::gpu::matrix::beyond_the_edge
bsr_matrix_sampled @ t.first + column / p.block_wide @ t.first @ bsr::gpu::matrix::sampled_rows
bsr_matrix_sampled @ block_wide + within @ block_wide @ bsr::gpu::matrix::beyond_the_edge
bsr_matrix_sampled @ k = select(k + @ k = select(k + 0u * @ bsr::gpu::matrix::sampled_rows
bsr_matrix_sampled !EIGHT @ p.block_wide <= p.wide { @ p.block_wide > 0u { @ bsr::gpu::matrix::beyond_the_edge
bsr_align BLOCKS @ row < p.high @ row <= p.high @ bsr::gpu::matrix::beyond_the_edge
bsr_align BLOCKS @ p.wide - min(p.wide, column) @ p.wide @ bsr::gpu::matrix::beyond_the_edge
bsr_align BLOCKS @ / size % p.count @ / size % 1u @ bsr::gpu::matrix::beyond_the_edge
bsr_align BLOCKS @ p.x_base + 8u * quad @ 8u * quad @ bsr::gpu::matrix::beyond_the_edge
bsr_align !BLOCKS @ .y <= 8u * quad @ .y < 8u * quad @ bsr::gpu::matrix::beyond_the_edge
bsr_align !BLOCKS @ p.x_base + begin.x @ p.x_base @ bsr::gpu::matrix::beyond_the_edge
bsr_align !BLOCKS @ p.x_base + begin.x @ begin.x @ bsr::gpu::matrix::alone
bsr_align !BLOCKS @ row * extents.y @ row * pitch @ bsr::gpu::matrix::beyond_the_edge
bsr_align !BLOCKS @ row < extents.x @ row <= extents.x @ bsr::gpu::matrix::beyond_the_edge
bsr_align !BLOCKS @ extents.y - min(extents.y, column) @ extents.y @ bsr::gpu::matrix::beyond_the_edge
bsr_align !BLOCKS @ min(count, 8u) @ min(count, 7u) @ bsr::gpu::matrix::alone
fft @ let factor = bitcast<f32>(item.w) @ let factor = 1.0 @ fft::gpu::ifft::powers_of_two
fft_tiny @ z.yx, (p.load & EXCHANGED) != 0u @ z.yx, (p.load & EXCHANGED) == 0u @ fft::gpu::ifft::short
fft @ p.y_first + i * p.y_step @ p.y_first @ fft::gpu::fft
fft_tiny @ sum.x - sum.y @ sum.x + sum.y @ fft::gpu::rfft::short
fft_tiny @ n - k, 0u, k == 0u @ n - k - 1u, 0u, k == 0u @ fft::gpu::rfft::short
fft_tiny @ x[begin + n - k] @ x[begin + k] @ fft::gpu::irfft::short
fft_tiny @ sum.yx * bitcast @ sum.xy * bitcast @ fft::gpu::irfft::short
fft_tiny @ c_add(sum, sh_roots[at + m] @ c_add(sum, sh_roots[at + j] @ fft::gpu::fft::short
fft_real @ if back { @ if !back { @ fft::gpu::rfft::powers_of_two
fft_real @ vec2(o.y, -o.x) @ vec2(-o.y, o.x) @ fft::gpu::rfft::powers_of_two
fft_real @ vec2(first.y, next.x) @ vec2(next.x, first.y) @ fft::gpu::rfft::views
fft_real @ y[at >> 1u].y = z.x @ y[at >> 1u].y = z.y @ fft::gpu::irfft::powers_of_two
fft_smooth @ task.x - p.first_item @ task.x @ fft::gpu::fft
fft_smooth @ s.twiddles += (s.radix - 1u) * s.done @ s.twiddles += s.radix * s.done @ fft::gpu::fft::random
fft_smooth @ if s.i == 0u { @ if false { @ fft::gpu::rfft
fft_filter @ min(i, LENGTH - i) @ i @ fft::gpu::fft::random
fft_filter @ vec2(value.x, -value.y) @ value @ fft::gpu::fft::random
fft_filter @ turn(k, 2u * item.z) @ turn(k, item.z) @ fft::gpu::rfft::even
fft_bluestein @ k == 0u || k >= n @ k >= n @ fft::gpu::rfft::even
fft_bluestein @ item.z >> NUMBER_SHIFT @ 0u * item.z @ fft::gpu::fft::random
fft_pass @ c_mul(value, chirp(i @ c_mul(value, chirp(0u * i @ fft::gpu::fft::long
fft_pass @ (square * 256u) @ (square * 128u) @ fft::gpu::fft::long
fft_pass @ item.z - 1u - inside @ inside @ conv::gpu
fft_pass @ (item.z - b) & ( @ (item.z - b + 1u) & ( @ fft::gpu::rfft::long
conv_fused @ q + 1u - item.n, q @ q + 2u - item.n, q @ conv::gpu
conv_fused @ min(item.m, q + 1u) @ min(item.m, q) @ conv::gpu
conv_fused @ (item.w & REVERSED) != 0u @ (item.w & REVERSED) == 0u @ conv::gpu
conv_fused @ if at < item.write @ if at <= item.write @ conv::gpu
conv_fused @ if y.index == NOWHERE @ if y.index != NOWHERE @ correlate_max::gpu
MUTANTS
echo "$killed killed, $survived survived, $missing not found or not run, $skipped skipped"
[ $((survived + missing)) -eq 0 ]
