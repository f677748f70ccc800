// Drives the page in a browser, and sends what it shows to test.py, which loads this script after the page's own.

import { page } from './page.js';

const { by } = page;

/** Waits for the steps that the page has begun. */
const settled = () => page.then(() => {});
const error = () => by('error').textContent;

async function change(id, value) {
  by(id).value = value;
  by(id).dispatchEvent(new Event('change'));
  await settled();
}

async function drop(name, text) {
  const dataTransfer = new DataTransfer();
  dataTransfer.items.add(new File([text], name));
  document.dispatchEvent(new DragEvent('drop', { dataTransfer, bubbles: true }));
  await settled();
}

/** The number of pixels of each of the curves' colours. */
function pixels() {
  const canvas = by('canvas');
  const copy = new OffscreenCanvas(canvas.width, canvas.height).getContext('2d', { willReadFrequently: true });
  copy.drawImage(canvas, 0, 0);
  const { data } = copy.getImageData(0, 0, canvas.width, canvas.height);
  const style = getComputedStyle(document.documentElement);
  const counts = {};
  for (const name of ['signal', 'result', 'spectrum', 'ink']) {
    const hex = parseInt(style.getPropertyValue(`--${name}`).trim().slice(1), 16);
    counts[name] = 0;
    for (let i = 0; i < data.length; i += 4) {
      const near = [hex >> 16, hex >> 8 & 255, hex & 255].every((part, c) => Math.abs(data[i + c] - part) < 24);
      if (near && data[i + 3] > 128) counts[name] += 1;
    }
  }
  return counts;
}

const lists = rows => rows.map(row => Array.from(row));

/** What the page shows with each kernel on the chosen device. */
async function shown() {
  const all = { status: '', kernels: {} };
  for (const { value } of [...by('kernel').options]) {
    await change('kernel', value);
    const { convolved, spectra, distances, lags, time, deviceTime } = page.drawn;
    all.kernels[value] = {
      convolved: lists(convolved), spectra: lists(spectra), distances: lists(distances), lags: lists(lags), time,
      deviceTime, pixels: pixels(),
    };
  }
  all.status = by('status').textContent;
  all.png = by('canvas').toDataURL();
  return all;
}

const send = (path, what) => fetch(path, { method: 'POST', body: JSON.stringify(what) });

/** Called for each check: its name, and what is wrong, or nothing. */
const checks = [];
let latest = performance.now();
window.checked = (name, wrong) => {
  const now = performance.now();
  checks.push({ name, wrong, time: now - latest });
  latest = now;
  send('/progress', checks.at(-1));
};

async function report() {
  const times = {};
  let began = performance.now();
  const lap = name => { times[name] = Math.round(performance.now() - began); began = performance.now(); };
  await settled();
  const start = { status: by('status').textContent, error: error() };
  by('sample').click();
  await settled();
  const signals = page.signals.map(({ name, values }) => ({ name, values: Array.from(values) }));
  const gpu = await shown();
  lap('page on the GPU');
  latest = performance.now();
  await page.lab.check();
  lap('checks');
  await change('device', 'cpu');
  const cpu = await shown();
  lap('page on the CPU');

  await drop('bad.csv', 'volts\n1, 2\n3, four\n');
  const bad = error();
  by('clear').click();
  await settled();
  await drop('good.csv', 'volts\n1, 2\n3\n');
  const good = { error: error(), values: page.signals.map(signal => Array.from(signal.values)) };

  // A browser without WebGPU.
  Object.defineProperty(navigator, 'gpu', { value: undefined });
  await change('device', 'gpu');
  const without = { status: by('status').textContent, error: error() };
  return { start, signals, gpu, cpu, checks, bad, good, without, times, recorded: window.recorded };
}

send('/report', await report().catch(error => ({ failed: `${error}\n${error.stack}` })));
