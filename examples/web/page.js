// The page: keeps the signals, asks the library (src/lib.rs) for their analysis, and draws it.

import init, { Lab, parse, samples } from './pkg/vsla_web.js';

const by = id => document.getElementById(id);
const ROW = 120, GAP = 26;

/** The signals: `{name, values}`. */
let signals = [];
let lab = null;
let device = '';
let drawn = null;

function show(error) {
  by('error').textContent = error ? String(error.message ?? error) : '';
  by('error').style.display = error ? 'block' : 'none';
}

/** Runs one step after the other, and shows what fails. */
let last = Promise.resolve();
function then(step) {
  last = last.then(step).then(() => true, error => { show(error); return false; });
  return last;
}

/** Cuts values that lie one after the other. */
function cut(values, lengths) {
  let begin = 0;
  return Array.from(lengths, length => values.subarray(begin, begin += length));
}

/** The name of the GPU, of which WebGPU's own description, and with it the library's name, is often empty. */
async function adapter() {
  const gpu = await navigator.gpu?.requestAdapter({ powerPreference: 'high-performance' });
  return [gpu?.info?.vendor, gpu?.info?.architecture].filter(Boolean).join(' ') || 'unnamed GPU';
}

async function open() {
  by('status').textContent = 'Opening the device …';
  lab = await Lab.open(by('device').value === 'gpu');
  device = lab.device.replace('unnamed GPU', await adapter());
  await analyse();
}

async function analyse() {
  show(null);
  const about = device + (lab.why ? `, because: ${lab.why}` : '');
  if (signals.length === 0) {
    drawn = null;
    draw();
    by('status').textContent = `${about}. No signals yet.`;
    return;
  }
  const lengths = Uint32Array.from(signals, signal => signal.values.length);
  const values = new Float32Array(lengths.reduce((a, b) => a + b, 0));
  cut(values, lengths).forEach((part, i) => part.set(signals[i].values));
  const began = performance.now();
  const found = await lab.analyse(values, lengths, by('kernel').value);
  const time = performance.now() - began;
  const n = signals.length;
  drawn = {
    convolved: cut(found.convolved, found.convolved_lengths),
    spectra: cut(found.spectra, found.spectra_lengths),
    distances: cut(found.distances, Array(n).fill(n)),
    lags: cut(found.lags, Array(n).fill(n)),
    time,
    deviceTime: found.device_time,
  };
  found.free();
  draw();
  const onDevice = drawn.deviceTime === undefined ? '' : `, ${drawn.deviceTime.toFixed(1)} ms of them on the device`;
  by('status').textContent = `${about}. ${n} signals with ${values.length} values: ` +
    `${time.toFixed(1)} ms until all results were back${onDevice}.`;
}

/** The signal most like signal i, and the distance and the lag; null if there is no other. */
function neighbour(i) {
  let best = null;
  drawn.distances[i].forEach((distance, j) => {
    if (j !== i && (best === null || distance < best.distance)) best = { j, distance, lag: drawn.lags[i][j] };
  });
  return best;
}

function draw() {
  const canvas = by('canvas'), count = drawn ? signals.length : 0;
  const width = Math.max(320, canvas.clientWidth), height = count * (ROW + GAP);
  const scale = window.devicePixelRatio || 1;
  canvas.width = width * scale;
  canvas.height = height * scale;
  canvas.style.height = `${height}px`;
  if (count === 0) return;
  const pen = canvas.getContext('2d');
  const style = getComputedStyle(document.documentElement);
  const colour = name => style.getPropertyValue(`--${name}`).trim();
  pen.scale(scale, scale);
  pen.font = '14px system-ui, sans-serif';
  const left = { x: 0, width: width * 0.62 }, right = { x: width * 0.66, width: width * 0.34 };
  const longest = Math.max(...drawn.convolved.map(row => row.length));
  signals.forEach((signal, i) => {
    const top = i * (ROW + GAP), y = top + GAP;
    const near = neighbour(i);
    const like = near === null ? '' :
      `   nearest: ${signals[near.j].name}, distance ${near.distance.toFixed(3)}, lag ${near.lag}`;
    pen.fillStyle = colour('ink');
    pen.fillText(`${signal.name}, ${signal.values.length} values${like}`, 0, top + 16, width);
    for (const part of [left, right]) {
      pen.strokeStyle = colour('line');
      pen.strokeRect(part.x + .5, y + .5, part.width - 1, ROW - 1);
    }
    const peak = row => row.reduce((most, x) => Math.max(most, Math.abs(x)), 1e-30);
    const most = Math.max(peak(signal.values), peak(drawn.convolved[i]));
    const wave = { ...left, y, height: ROW, low: -most, high: most, longest };
    curve(pen, signal.values, colour('signal'), wave);
    curve(pen, drawn.convolved[i], colour('result'), wave);
    const top_ = peak(drawn.spectra[i]);
    const decibels = drawn.spectra[i].map(x => Math.max(-80, 20 * Math.log10(x / top_ + 1e-30)));
    curve(pen, decibels, colour('spectrum'), { ...right, y, height: ROW, low: -80, high: 3, longest: decibels.length });
  });
}

/** Draws values from left to right: for each pixel, the range of the values there. */
function curve(pen, values, colour, box) {
  const at = x => box.y + box.height * (1 - (x - box.low) / (box.high - box.low));
  const step = box.width / box.longest;
  pen.strokeStyle = colour;
  pen.beginPath();
  const each = Math.max(1, Math.floor(1 / step));
  for (let i = 0; i < values.length; i += each) {
    let low = Infinity, high = -Infinity;
    for (const x of values.subarray(i, i + each)) { low = Math.min(low, x); high = Math.max(high, x); }
    pen.lineTo(box.x + i * step, at(high));
    if (each > 1) pen.lineTo(box.x + i * step, at(low));
  }
  pen.stroke();
}

function sample() {
  const all = samples();
  const parts = cut(all.values, all.lengths);
  signals = all.names.map((name, i) => ({ name, values: parts[i] }));
  all.free();
}

async function add(files) {
  show(null);
  for (const file of files) {
    signals.push({ name: file.name, values: parse(file.name, new Uint8Array(await file.arrayBuffer())) });
  }
  await analyse();
}

by('sample').onclick = () => then(() => { sample(); return analyse(); });
by('clear').onclick = () => then(() => { signals = []; return analyse(); });
by('kernel').onchange = () => then(analyse);
by('device').onchange = () => then(open);
by('files').onchange = event => then(() => add(event.target.files));
by('form').onsubmit = event => event.preventDefault();
const drop = by('drop');
document.addEventListener('dragover', event => { event.preventDefault(); drop.classList.add('over'); });
document.addEventListener('dragleave', () => drop.classList.remove('over'));
document.addEventListener('drop', event => {
  event.preventDefault();
  drop.classList.remove('over');
  const files = [...event.dataTransfer.files];
  then(() => add(files));
});
window.addEventListener('resize', draw);
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', draw);
window.addEventListener('error', event => show(event.message));
window.addEventListener('unhandledrejection', event => show(event.reason));

then(async () => { await init(); await open(); });

/** For test.js: what the page knows and shows. */
export const page = {
  then, by, parse, get lab() { return lab; }, get signals() { return signals; }, get drawn() { return drawn; },
};
