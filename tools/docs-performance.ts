// Makes the page that compares Divan with other servers, and its plots, from the results that `npm run bench -- peers` wrote for commits.
import { type Figure, median, type Results, readResults } from '../bench/support/results.ts';

const folder = 'docs/reference/performance';
const groups: Readonly<Record<string, { title: string; about: string }>> = {
  keys: {
    title: 'Keys',
    about:
      'Four reads to one write of 256 bytes, from one process over loopback. The echo server answers each byte with itself: what a server in this runtime can do at most.',
  },
  encryption: {
    title: 'TLS',
    about:
      'The same requests to an ephemeral bucket, plain and over TLS, compared with an echo server of Node with both. The generator encrypts as well, on the same processors: compare the processor time.',
  },
  'durable writes': {
    title: 'Durable writes',
    about:
      'Writes that are answered when they are synced to the disk, compared with a database that commits as many rows at a time.',
  },
  queries: { title: 'Queries', about: 'Prepared statements over 10,000 documents, without writes.' },
  REST: {
    title: 'REST',
    about: 'One request at a time on each connection, with a login in each request to Divan.',
  },
  'start and size': {
    title: 'Start and size',
    about:
      'A start on an empty folder. Memory is that of the process after 35 seconds without requests; an empty Node program needs most of it, too.',
  },
  many: {
    title: 'Many buckets and connections',
    about:
      'A node with thirty empty persistent buckets, then with ten thousand connections too, which have logged in and send nothing.',
  },
  'mixed load': {
    title: 'Latencies under mixed load',
    about:
      '4,000 reads and writes a second of documents of 512 bytes, of which some expire, while the bucket is flushed, compacted every second, and its metrics are read. For comparison how late an idle thread wakes up, which the machine alone causes.',
  },
};

export function performancePage(): string {
  const all = readResults();
  const newest = all.at(-1);
  const lines = ['# Performance', '', ...introduction];
  if (newest !== undefined)
    lines.push(
      ...conditions(newest),
      ...Object.keys(groups).flatMap((name) => section(name, newest, newestOf(name, all))),
      ...history(all),
    );
  return `${lines.join('\n')}\n`;
}

const introduction = [
  'Divan compared with other servers on the same machine. `npm run bench -- peers` measures: each round measures every server once, so that other',
  'work of the machine affects all of them. It writes the results of a commit to `bench/results`; `npm run docs` makes this page from them. Compare rows',
  'with each other, not with figures of other machines. Processor time is that of all threads of the server for one operation: a busy machine changes',
  'it less than the rate. The generator of the load has a processor of its own only where nothing else runs.',
  '',
];

const conditions = ({ commit, at, machine, load }: Results): string[] => [
  `Commit ${commit}, ${at.slice(0, 10)}: ${machine}. Load average: ${load[0]} before the run, ${load[1]} at its end.`,
  '',
];

/** A run may measure some groups only. */
const newestOf = (name: string, all: readonly Results[]): Results | undefined =>
  all.findLast(({ figures }) => figures.some(({ group }) => group === name));

function section(group: string, newest: Results, measured: Results | undefined): string[] {
  const { title, about } = groups[group] as { title: string; about: string };
  if (measured === undefined) return [];
  const found = measured.figures.filter((figure) => figure.group === group);
  return [
    `## ${title}`,
    '',
    about,
    '',
    ...(measured === newest ? [] : conditions(measured)),
    `![${title}](performance/${fileOf(group)})`,
    '',
    '| what | server | median | lowest to highest | processor time per operation |',
    '|---|---|---|---|---|',
    ...found.map(row),
    '',
  ];
}

function row({ shape, server, unit, values, cpuMicroseconds }: Figure): string {
  const spread =
    values.length === 1 ? '' : `${number(Math.min(...values))} to ${number(Math.max(...values))}`;
  const cpu = cpuMicroseconds === undefined ? '' : `${median(cpuMicroseconds).toPrecision(3)} \u00b5s`;
  return `| ${shape} | ${server} | ${number(median(values))} ${unit} | ${spread} | ${cpu} |`;
}

/** The medians of Divan by commit, which show regressions. */
function history(all: readonly Results[]): string[] {
  if (all.length < 2) return [];
  const shown = all.slice(-10);
  const own = Object.keys(groups).flatMap((name) =>
    (newestOf(name, all)?.figures ?? []).filter(
      ({ group, server }) => group === name && server.startsWith('Divan'),
    ),
  );
  return [
    '## By commit',
    '',
    'Machines differ in what else they do: compare the processor times of a row, which are in `bench/results`, before the rates.',
    '',
    `| what | ${shown.map(({ commit }) => commit).join(' | ')} |`,
    `|---|${shown.map(() => '---').join('|')}|`,
    ...own.map((figure) => {
      const cells = shown.map(({ figures }) => {
        const same = figures.find(({ server, shape }) => server === figure.server && shape === figure.shape);
        return same === undefined ? '' : number(median(same.values));
      });
      return `| ${figure.server}: ${figure.shape}, ${figure.unit} | ${cells.join(' | ')} |`;
    }),
    '',
  ];
}

export function performancePlots(): Record<string, () => string> {
  const all = readResults();
  return Object.fromEntries(
    Object.keys(groups).flatMap((name) => {
      const found = newestOf(name, all)?.figures.filter(({ group }) => group === name);
      return found === undefined ? [] : [[`${folder}/${fileOf(name)}`, () => plot(found)] as const];
    }),
  );
}

const width = 760;
const leftMargin = 330;
const rightMargin = 110;
const rowHeight = 24;
const titleHeight = 30;

/** Bars of the medians, with a line from the lowest to the highest round; each shape has a scale of its own. */
function plot(figures: readonly Figure[]): string {
  const parts: string[] = [];
  let y = 10;
  for (const shape of new Set(figures.map((figure) => figure.shape))) {
    const rows = figures.filter((figure) => figure.shape === shape);
    const most = Math.max(...rows.flatMap(({ values }) => values));
    const x = (value: number): number =>
      Math.round(leftMargin + (value / most) * (width - leftMargin - rightMargin));
    parts.push(text(10, y + 18, `${shape}, ${rows[0]?.unit}`, 'bold'));
    y += titleHeight;
    for (const { server, values } of rows) {
      const [low, middle, high] = [Math.min(...values), median(values), Math.max(...values)].map(x) as [
        number,
        number,
        number,
      ];
      const color = server.startsWith('Divan') ? '#2563a8' : '#a3a9b1';
      const line = y + rowHeight / 2;
      parts.push(
        text(leftMargin - 8, line + 4, server, 'normal', 'end'),
        `<rect x="${leftMargin}" y="${y + 4}" width="${Math.max(1, middle - leftMargin)}" height="${rowHeight - 8}" fill="${color}"/>`,
        `<path d="M${low} ${line}H${high}" stroke="#222" fill="none"/>`,
        text(Math.max(high, middle) + 6, line + 4, number(median(values))),
      );
      y += rowHeight;
    }
    y += 8;
  }
  const size = `width="${width}" height="${y + 6}" viewBox="0 0 ${width} ${y + 6}"`;
  return `<svg xmlns="http://www.w3.org/2000/svg" ${size} font-family="sans-serif" font-size="13">\n<rect width="100%" height="100%" fill="#fff"/>\n${parts.join('\n')}\n</svg>\n`;
}

const text = (x: number, y: number, content: string, weight = 'normal', anchor = 'start'): string =>
  `<text x="${x}" y="${y}" font-weight="${weight}" text-anchor="${anchor}" fill="#222">${content.replace(/&/g, '&amp;').replace(/</g, '&lt;')}</text>`;

const number = (value: number): string => Number(value.toPrecision(3)).toLocaleString('en-US');
const fileOf = (group: string): string => `${group.toLowerCase().replaceAll(' ', '-')}.svg`;
