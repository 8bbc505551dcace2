// Serves the manual.
import { type BoundRoute, bind, type Reply, reply } from '#contract/route.ts';
import { manualSite } from '#manual/site.ts';
import type { Clock } from '#ports/clock.ts';
import { GetManual, GetManualPage, SearchManual } from './manual.contract.ts';

export function manualRoutes(clock: Clock): BoundRoute[] {
  const site = manualSite(clock);
  const page = async (path: string, query?: string): Promise<Reply> => {
    const { html, status, headers } = await site(path, query);
    return reply.text(html, status, headers);
  };
  return [
    bind(GetManual, () => page('')),
    bind(SearchManual, ({ query }) => page('search', query.q)),
    bind(GetManualPage, ({ params }) => page(params['page'] as string)),
  ];
}
