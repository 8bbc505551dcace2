// Answers HTTP requests for the manual. The first request loads the renderer: most servers never need it, and loading it at the start
// would take time.
import type { Manual } from './manual.ts';
import type { PauseClock } from './render.ts';

export interface ManualAnswer {
  readonly status: number;
  readonly headers: Record<string, string>;
  readonly html: string;
}

export interface ManualImage {
  readonly headers: Record<string, string>;
  readonly bytes: Buffer;
}

/** `path` is below `/docs/`; `query` is what to search for, on the page `search`. */
export type ManualSite = (path: string, query?: string) => Promise<ManualAnswer>;

interface LoadedManual {
  readonly manual: Manual;
  readonly policy: string;
}

export function manualSite(clock: PauseClock, load = loadManual): ManualSite {
  let loading: Promise<LoadedManual> | null = null;
  /** A failure is not cached, so that the next request tries again: files may be readable later. */
  const loaded = async (): Promise<LoadedManual> => {
    const attempt = (loading ??= load(clock));
    try {
      return await attempt;
    } catch (error) {
      if (loading === attempt) loading = null;
      throw error;
    }
  };
  return async (path, query = '') => {
    const { manual, policy } = await loaded();
    const page = path === 'search' ? manual.search(query) : manual.page(path);
    const headers = {
      'Content-Type': 'text/html; charset=utf-8',
      'Content-Security-Policy': policy,
      'Referrer-Policy': 'no-referrer',
    };
    return { status: page === null ? 404 : 200, headers, html: await (page ?? manual.missing()) };
  };
}

/** `name` is below `/docs/images/`. Null: there is no such picture. */
export async function manualImage(name: string): Promise<ManualImage | null> {
  const { readManualImage } = await import('./manual-files.adapter.ts');
  const bytes = await readManualImage(name);
  if (bytes === null) return null;
  const headers = { 'Content-Type': 'image/webp', 'Content-Length': String(bytes.length) };
  return { bytes, headers: { ...headers, 'Content-Security-Policy': "default-src 'none'" } };
}

async function loadManual(clock: PauseClock): Promise<LoadedManual> {
  const [{ Manual }, { readManualFile }, { manualPolicy }] = await Promise.all([
    import('./manual.ts'),
    import('./manual-files.adapter.ts'),
    import('./layout.ts'),
  ]);
  return { manual: new Manual(readManualFile, clock), policy: manualPolicy };
}
