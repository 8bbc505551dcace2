// A line chart of time series, drawn as SVG, with its newest values as text.
import { useId } from 'preact/hooks';
import { chartScale } from './chart-scale.ts';
import { time } from './format.ts';

export interface Series {
  readonly name: string;
  /** Seconds since 1970, and the value; null where there is none. */
  readonly points: readonly (readonly [number, number | null])[];
}

interface ChartProps {
  readonly title: string;
  readonly series: readonly Series[];
  readonly format: (value: number) => string;
  /** The interval, in seconds since 1970. */
  readonly from: number;
  readonly to: number;
}

/** In units of the drawing: its size, and the margins around the lines. */
const [width, height, left, top, bottom] = [320, 130, 2, 2, 14];
const coloursMax = 4;

export function Chart({ title, series, format, from, to }: ChartProps) {
  const id = useId();
  const shown = series.slice(0, coloursMax);
  const values = shown.flatMap(({ points }) =>
    points.flatMap(([, value]) => (value === null ? [] : [value])),
  );
  const { lowest, highest, heightOf } = chartScale(values);
  const x = (at: number) => left + ((at - from) / Math.max(1, to - from)) * (width - left);
  const y = (value: number) => (height - top - bottom) * (1 - heightOf(value)) + top;
  return (
    <figure class="chart" aria-labelledby={id}>
      <figcaption id={id}>{title}</figcaption>
      {values.length === 0 ? (
        <p class="empty">No samples in this interval.</p>
      ) : (
        <svg viewBox={`0 0 ${width} ${height}`} preserveAspectRatio="none" aria-hidden="true">
          <line class="grid" x1={left} x2={width} y1={y(0)} y2={y(0)} />
          <line class="grid" x1={left} x2={width} y1={y(highest)} y2={y(highest)} />
          {lowest < 0 && <line class="grid" x1={left} x2={width} y1={y(lowest)} y2={y(lowest)} />}
          {shown.map(({ name, points }, index) => (
            <polyline
              key={name}
              class={`series-${index + 1}`}
              points={points
                .flatMap(([at, value]) =>
                  value === null ? [] : [`${x(at).toFixed(1)},${y(value).toFixed(1)}`],
                )
                .join(' ')}
            />
          ))}
        </svg>
      )}
      <p class="row quiet times">
        <span>{time(from * 1000)}</span>
        {lowest < 0 && <span>lowest {format(lowest)}</span>}
        <span>highest {format(values.length === 0 ? 0 : Math.max(...values))}</span>
      </p>
      <ul class="legend">
        {shown.map(({ name, points }, index) => {
          const last = points.at(-1)?.[1];
          return (
            <li key={name}>
              <span class={`series-${index + 1}`} aria-hidden="true">
                ▬
              </span>{' '}
              {name}: {last === null || last === undefined ? 'no value' : format(last)}
            </li>
          );
        })}
      </ul>
      {series.length > coloursMax && <p class="quiet">{series.length - coloursMax} more are not shown.</p>}
    </figure>
  );
}
