// A real Prometheus with given samples, for comparisons with the metrics store of Divan.
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Labels } from '#metrics/sample.ts';
import { freePort } from './free-port.ts';
import { endAfterTests } from './left-running.ts';
import { eventually } from './node-process.ts';

export interface GivenSeries {
  /** With `__name__`. */
  labels: Labels;
  samples: readonly (readonly [timeMs: number, value: number])[];
}

export interface FoundSeries {
  metric: Record<string, string>;
  values: [seconds: number, value: string][];
}

export class Prometheus {
  private readonly folder: string;
  private readonly child: ChildProcess;
  readonly url: string;

  private constructor(folder: string, child: ChildProcess, url: string) {
    this.folder = folder;
    this.child = child;
    this.url = url;
  }

  static async start(series: readonly GivenSeries[]): Promise<Prometheus> {
    const folder = mkdtempSync(join(tmpdir(), 'divan-prometheus-'));
    const [samples, config, data] = ['samples.txt', 'config.yml', 'data'].map((name) =>
      join(folder, name),
    ) as [string, string, string];
    writeFileSync(samples, openMetrics(series));
    writeFileSync(config, '');
    execFileSync('promtool', ['tsdb', 'create-blocks-from', 'openmetrics', samples, data], {
      stdio: 'ignore',
    });
    const address = `127.0.0.1:${await freePort()}`;
    const child = spawn(
      'prometheus',
      [
        `--config.file=${config}`,
        `--storage.tsdb.path=${data}`,
        `--web.listen-address=${address}`,
        '--storage.tsdb.retention.time=50y',
        '--log.level=error',
      ],
      { stdio: 'ignore' },
    );
    endAfterTests(child);
    const prometheus = new Prometheus(folder, child, `http://${address}`);
    await eventually(async () => {
      if (!(await fetch(`${prometheus.url}/-/ready`)).ok) throw new Error('not ready');
    });
    return prometheus;
  }

  async range(query: string, { startMs, endMs, stepMs }: { startMs: number; endMs: number; stepMs: number }) {
    const form = new URLSearchParams({
      query,
      start: String(startMs / 1000),
      end: String(endMs / 1000),
      step: String(stepMs / 1000),
    });
    const answer = await fetch(`${this.url}/api/v1/query_range`, { method: 'POST', body: form });
    const { status, error, data } = (await answer.json()) as {
      status: string;
      error?: string;
      data: { result: FoundSeries[] };
    };
    if (status !== 'success') throw new Error(`${query}: ${error}`);
    return data.result;
  }

  async stop(): Promise<void> {
    const ended = once(this.child, 'exit');
    this.child.kill('SIGKILL');
    await ended;
    rmSync(this.folder, { recursive: true, force: true });
  }
}

function openMetrics(series: readonly GivenSeries[]): string {
  const lines = series.flatMap(({ labels: { __name__, ...labels }, samples }) => {
    const shown = Object.entries(labels).map(([name, value]) => `${name}=${JSON.stringify(value)}`);
    const head = `${__name__}{${shown.join(',')}}`;
    return samples.map(([timeMs, value]) => `${head} ${numberText(value)} ${(timeMs / 1000).toFixed(3)}`);
  });
  return `${lines.join('\n')}\n# EOF\n`;
}

const numberText = (value: number): string =>
  Number.isFinite(value) || Number.isNaN(value) ? String(value) : value > 0 ? '+Inf' : '-Inf';
