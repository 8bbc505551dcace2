// Events on a time line, drawn as SVG. The page shows the events as text too, usually in a table beside the line.
import { time } from './format.ts';

export interface TimeLineEvent {
  readonly name: string;
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly isLarge: boolean;
}

interface TimeLineProps {
  readonly label: string;
  readonly events: readonly TimeLineEvent[];
}

/** At both ends of the line, in percent, so that no circle is cut off. */
const margin = 2;

export function TimeLine({ label, events }: TimeLineProps) {
  const times = events.map(({ at }) => at);
  const [from, to] = [Math.min(...times), Math.max(...times)];
  const x = (at: number): string =>
    from === to ? '50%' : `${margin + ((100 - 2 * margin) * (at - from)) / (to - from)}%`;
  return (
    <figure class="time-line">
      <svg role="img" aria-label={label}>
        <line class="grid" x1="0" x2="100%" y1="50%" y2="50%" />
        {events.map(({ name, at, isLarge }) => (
          <circle key={name} cx={x(at)} cy="50%" r={isLarge ? 8 : 5}>
            <title>{name}</title>
          </circle>
        ))}
      </svg>
      <p class="row quiet times" aria-hidden="true">
        <span>{time(from)}</span>
        {from !== to && <span>{time(to)}</span>}
      </p>
    </figure>
  );
}
