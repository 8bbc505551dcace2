// A table that scrolls through any number of rows, of which only those in sight are in the DOM. More rows are requested near its end.
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { type Column, Head, Row } from './table.tsx';

interface VirtualTableProps<T> {
  readonly caption: string;
  readonly columns: readonly Column<T>[];
  readonly rows: readonly T[];
  readonly rowKey: (row: T) => string;
  /** Whether `onEnd` would bring more rows. */
  readonly hasMore: boolean;
  readonly onEnd: () => void;
}

/** The height of a row, as the style sheet sets it. */
const rowPixels = 40;
/** Rows that are drawn before and behind those in sight. */
const marginRows = 15;

/** The first column names the row. Each row takes one line. */
export function VirtualTable<T>({ caption, columns, rows, rowKey, hasMore, onEnd }: VirtualTableProps<T>) {
  const box = useRef<HTMLElement>(null);
  const [top, setTop] = useState(0);
  const [height, setHeight] = useState(0);
  useLayoutEffect(() => {
    const element = box.current as HTMLElement;
    const observer = new ResizeObserver(() => setHeight(element.clientHeight));
    observer.observe(element);
    setHeight(element.clientHeight);
    return () => observer.disconnect();
  }, []);
  /** From 0, without the header. */
  const first = Math.max(0, Math.floor(top / rowPixels) - marginRows);
  const last = Math.min(rows.length, Math.ceil((top + height) / rowPixels) + marginRows);
  const isNearEnd = hasMore && last === rows.length;
  useEffect(() => {
    if (isNearEnd) onEnd();
  }, [isNearEnd, rows.length]);
  const space = {
    paddingTop: `${first * rowPixels}px`,
    paddingBottom: `${(rows.length - last) * rowPixels}px`,
  };
  return (
    <section
      ref={box}
      class="table virtual"
      aria-label={caption}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, also by keyboard.
      tabIndex={0}
      onScroll={(event) => setTop(event.currentTarget.scrollTop)}
    >
      <div style={space}>
        <table aria-rowcount={hasMore ? -1 : rows.length + 1}>
          <Head columns={columns} />
          <tbody>
            {rows.slice(first, last).map((row, index) => (
              <Row key={rowKey(row)} row={row} columns={columns} rowIndex={first + index + 2} />
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}
