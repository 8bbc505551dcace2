// Shows a node through its REST API. The name and password stay in this page's memory: a reload signs out.

const refreshMs = 5_000;
const one = (id) => document.getElementById(id);
const [who, message, signIn, signOut, figures] = ['who', 'message', 'sign-in', 'sign-out', 'figures'].map(
  one,
);

let authorization = null;
let timer = 0;

async function get(path) {
  const response = await fetch(path, {
    // Without this header the browser would ask for credentials in a window of its own.
    headers: { 'invalid-auth-response': 'on', ...(authorization && { authorization }) },
    credentials: 'omit',
    cache: 'no-store',
  });
  const body = response.ok ? await response.json() : null;
  return { status: response.status, body };
}

function basic(name, password) {
  const bytes = new TextEncoder().encode(`${name}:${password}`);
  return `Basic ${btoa(String.fromCharCode(...bytes))}`;
}

function showMessage(text) {
  if (message.textContent !== text) message.textContent = text;
}

function askToSignIn(text) {
  clearTimeout(timer);
  authorization = null;
  who.textContent = '';
  figures.hidden = true;
  signOut.hidden = true;
  signIn.hidden = false;
  showMessage(text);
  one('name').focus();
}

async function show() {
  clearTimeout(timer);
  try {
    await showNow();
    timer = setTimeout(() => void show(), refreshMs);
  } catch {
    showMessage('The node does not answer. The page retries every few seconds.');
    timer = setTimeout(() => void show(), refreshMs);
  }
}

async function showNow() {
  const mine = authorization;
  const [pool, buckets, tasks] = await Promise.all(
    ['/pools/default', '/pools/default/buckets', '/pools/default/tasks'].map(get),
  );
  if (mine !== authorization) return;
  if (pool.status === 401) {
    askToSignIn(mine === null ? '' : 'The name or the password is wrong.');
    return;
  }
  if (pool.status === 404) {
    showMessage('This node is not set up yet.');
    return;
  }
  showMessage('');
  signIn.hidden = true;
  signOut.hidden = false;
  fill('nodes', pool, ({ nodes }) => table(nodeColumns, nodes));
  fill('buckets', buckets, (list) =>
    list.length ? table(bucketColumns, list) : text('There are no buckets.'),
  );
  fill('tasks', tasks, (list) => {
    const running = list.filter(({ status }) => status !== 'notRunning');
    return running.length ? table(taskColumns, running) : text('No task is running.');
  });
  figures.hidden = false;
}

function fill(id, { status, body }, render) {
  const shown =
    body === null
      ? text(status === 403 ? 'You do not have permission to see this.' : `The node answers ${status}.`)
      : render(body);
  one(id).replaceChildren(shown);
}

function text(words) {
  const paragraph = document.createElement('p');
  paragraph.textContent = words;
  return paragraph;
}

const services = {
  kv: 'data',
  index: 'index',
  n1ql: 'query',
  fts: 'search',
  cbas: 'analytics',
  eventing: 'eventing',
  backup: 'backup',
};
const percent = (value) => `${Math.round(value)} %`;
const count = (value) => value.toLocaleString('en');

function size(bytes) {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  const step = Math.min(units.length - 1, Math.floor(Math.log2(Math.max(1, bytes)) / 10));
  return `${(bytes / 1024 ** step).toFixed(step > 0 && bytes / 1024 ** step < 10 ? 1 : 0)} ${units[step]}`;
}

function time(seconds) {
  const [days, hours, minutes] = [seconds / 86_400, (seconds / 3_600) % 24, (seconds / 60) % 60].map(
    Math.floor,
  );
  if (days > 0) return `${days} d ${hours} h`;
  return hours > 0 ? `${hours} h ${minutes} min` : `${minutes} min`;
}

const nodeColumns = [
  ['Name', (node) => node.hostname],
  ['State', (node) => node.status],
  ['Services', (node) => node.services.map((name) => services[name] ?? name).join(', ')],
  ['Version', (node) => node.version],
  ['Up', (node) => time(Number(node.uptime))],
  ['CPU', (node) => percent(node.systemStats.cpu_utilization_rate)],
  ['Memory free', (node) => `${size(node.memoryFree)} of ${size(node.memoryTotal)}`],
];
const bucketColumns = [
  ['Name', (bucket) => bucket.name],
  ['Type', (bucket) => bucket.bucketType],
  ['Items', (bucket) => count(bucket.basicStats.itemCount ?? 0)],
  ['Operations a second', (bucket) => count(Math.round(bucket.basicStats.opsPerSec ?? 0))],
  ['Memory', (bucket) => `${size(bucket.basicStats.memUsed ?? 0)} of ${size(bucket.quota.ram)}`],
  ['Disk', (bucket) => size(bucket.basicStats.diskUsed ?? 0)],
];
const taskColumns = [
  ['Task', (task) => task.type],
  ['Bucket', (task) => task.bucket ?? ''],
  ['State', (task) => task.status],
  ['Progress', (task) => (task.progress === undefined ? '' : percent(task.progress))],
];

/** The first column names the row. */
function table(columns, rows) {
  const made = document.createElement('table');
  const head = made.createTHead().insertRow();
  for (const [label] of columns) head.append(cell('th', label, { scope: 'col' }));
  const body = made.createTBody();
  for (const row of rows) {
    const line = body.insertRow();
    for (const [index, [label, value]] of columns.entries()) {
      const shown = String(value(row));
      line.append(
        index === 0 ? cell('th', shown, { scope: 'row' }) : cell('td', shown, { 'data-label': label }),
      );
    }
  }
  return made;
}

function cell(kind, words, attributes) {
  const made = document.createElement(kind);
  made.textContent = words;
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  return made;
}

signIn.addEventListener('submit', (event) => {
  event.preventDefault();
  authorization = basic(one('name').value, one('password').value);
  who.textContent = one('name').value;
  one('password').value = '';
  void show();
});
signOut.addEventListener('click', () => askToSignIn(''));

const { status } = await get('/pools').catch(() => ({ status: 0 }));
if (status === 200) void show();
else askToSignIn(status === 401 ? '' : 'The node does not answer.');
