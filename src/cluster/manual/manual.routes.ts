// Serves the manual.
import { type BoundRoute, bind, type Reply, reply } from '#contract/route.ts';
import { manualImage, manualSite } from '#manual/site.ts';
import type { Clock } from '#ports/clock.ts';
import { GetManual, GetManualImage, GetManualPage, SearchManual } from './manual.contract.ts';

export function manualRoutes(clock: Clock): BoundRoute[] {
  const site = manualSite(clock);
  const page = async (path: string, query?: string): Promise<Reply> => {
    const { html, status, headers } = await site(path, query);
    return reply.text(html, status, headers);
  };
  return [
    bind(GetManual, () => page('')),
    bind(SearchManual, ({ query }) => page('search', query.q)),
    bind(GetManualImage, async ({ params }) => {
      const image = await manualImage(params['image'] as string);
      if (image === null) return page('images');
      return { kind: 'bytes', status: 200, headers: image.headers, source: onePart(image.bytes) };
    }),
    bind(GetManualPage, ({ params }) => page(params['page'] as string)),
  ];
}

async function* onePart(bytes: Buffer): AsyncGenerator<Buffer> {
  yield bytes;
}
