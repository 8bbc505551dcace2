// What browsers send on behalf of other people's pages. A browser that has been given credentials adds them to every form
// that any page has it send here, and before a node has an administrator none are needed. No other client sends the headers
// by which browsers tell of it.

interface Sent {
  readonly host?: string | undefined;
  readonly origin?: string | undefined;
  readonly 'sec-fetch-site'?: string | string[] | undefined;
}

/** Null when the request may change something here; else what is wrong with where it comes from. */
export function crossSiteProblem(headers: Sent, { provisioned }: { provisioned: boolean }): string | null {
  const { origin, 'sec-fetch-site': site } = headers;
  if (origin === undefined && site === undefined) return null;
  if (!isOwnPage(headers)) return `A page of another site (${origin ?? site}) may change nothing here.`;
  // A stranger's name may lead here, and then every page under it is our own to a browser.
  if (provisioned || isNameOfNobody(headers.host ?? '')) return null;
  return 'Before the node is set up, browsers must call it by an address or by localhost to change something.';
}

/** The browser's word goes before ours: a proxy may have put another name in the Host header. */
function isOwnPage({ host, origin, 'sec-fetch-site': site }: Sent): boolean {
  if (site !== undefined) return site === 'same-origin' || site === 'none';
  if (origin === undefined || host === undefined || !URL.canParse(origin)) return false;
  const { protocol, host: from } = new URL(origin);
  return URL.canParse(`${protocol}//${host}`) && new URL(`${protocol}//${host}`).host === from;
}

/** An address, or a name that no public name server answers for. */
function isNameOfNobody(host: string): boolean {
  const name = host.replace(/:\d+$/, '');
  return /^(\d+(\.\d+){3}|\[[0-9a-f:.]+\]|([^.]+\.)*localhost|[^.]+)$/i.test(name);
}
