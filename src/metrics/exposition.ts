// Renders samples as text for collectors: the Prometheus text format and OpenMetrics.
import { metricOf } from './catalog.ts';
import { flatten } from './registry.ts';
import type { FlatSample, Labels, MetricSample } from './sample.ts';

export const prometheusType = 'text/plain; version=0.0.4; charset=utf-8';
export const openMetricsType = 'application/openmetrics-text; version=1.0.0; charset=utf-8';

export function prometheusText(samples: Iterable<MetricSample>): string {
  const lines: string[] = [];
  for (const [name, family] of families(samples)) {
    lines.push(...head(name, kindOf(family)), ...bodyOf(family));
  }
  return withLineEnds(lines);
}

/** OpenMetrics requires the suffix `_total` of counters; a counter whose published name lacks it is exported with type `unknown`. */
export function openMetricsText(samples: Iterable<MetricSample>): string {
  const lines: string[] = [];
  for (const [name, family] of families(samples)) {
    const kind = kindOf(family);
    const isCounter = kind === 'counter' && name.endsWith('_total');
    const familyName = isCounter ? name.slice(0, -'_total'.length) : name;
    lines.push(
      ...head(familyName, kind === 'counter' && !isCounter ? 'unknown' : kind, name),
      ...bodyOf(family),
    );
  }
  return withLineEnds([...lines, '# EOF']);
}

const withLineEnds = (lines: readonly string[]): string => lines.map((line) => `${line}\n`).join('');

/** Both formats require the samples of one name to be adjacent. */
function families(samples: Iterable<MetricSample>): Map<string, MetricSample[]> {
  const byName = new Map<string, MetricSample[]>();
  for (const sample of samples) {
    const family = byName.get(sample.name);
    if (family) family.push(sample);
    else byName.set(sample.name, [sample]);
  }
  return byName;
}

const kindOf = (family: readonly MetricSample[]): string => family[0]?.kind ?? 'unknown';

function head(familyName: string, kind: string, name = familyName): string[] {
  const help = metricOf(name)?.help;
  return [...(help ? [`# HELP ${familyName} ${escapeHelp(help)}`] : []), `# TYPE ${familyName} ${kind}`];
}

function* bodyOf(family: Iterable<MetricSample>): Generator<string> {
  for (const { name, labels, value } of flatten(family) as Iterable<FlatSample>)
    yield `${name}${labelText(labels)} ${numberText(value)}`;
}

function labelText(labels: Labels): string {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${escapeLabel(value)}"`);
  return pairs.length === 0 ? '' : `{${pairs.join(',')}}`;
}

const escapeHelp = (text: string): string => text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n');
const escapeLabel = (text: string): string => escapeHelp(text).replaceAll('"', '\\"');

function numberText(value: number): string {
  if (value === Number.POSITIVE_INFINITY) return '+Inf';
  return value === Number.NEGATIVE_INFINITY ? '-Inf' : String(value);
}
