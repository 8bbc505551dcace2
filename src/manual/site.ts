// The manual as answers to requests. The first request loads what renders it, so that a server that nobody reads it on starts fast.
import type { Manual } from './manual.ts';
import type { PauseClock } from './render.ts';

export interface ManualAnswer {
  readonly status: number;
  readonly headers: Record<string, string>;
  readonly html: string;
}

/** `path` is below `/docs/`; `query` is what to search for, on the page `search`. */
export type ManualSite = (path: string, query?: string) => Promise<ManualAnswer>;

export function manualSite(clock: PauseClock): ManualSite {
  let loading: Promise<{ manual: Manual; policy: string }> | null = null;
  return async (path, query = '') => {
    loading ??= load(clock);
    const { manual, policy } = await loading;
    const page = path === 'search' ? manual.search(query) : manual.page(path);
    const headers = {
      'Content-Type': 'text/html; charset=utf-8',
      'Content-Security-Policy': policy,
      'Referrer-Policy': 'no-referrer',
    };
    return { status: page === null ? 404 : 200, headers, html: await (page ?? manual.missing()) };
  };
}

async function load(clock: PauseClock): Promise<{ manual: Manual; policy: string }> {
  const [{ Manual }, { readManualFile }, { manualPolicy }] = await Promise.all([
    import('./manual.ts'),
    import('./manual-files.adapter.ts'),
    import('./layout.ts'),
  ]);
  return { manual: new Manual(readManualFile, clock), policy: manualPolicy };
}
