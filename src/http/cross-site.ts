// Protection against cross-site requests. A browser that holds credentials adds them to every form that any page sends here, and
// before a node has an administrator no credentials are needed. Only browsers send the headers that are
// checked here.

interface Sent {
  readonly host?: string | undefined;
  readonly origin?: string | undefined;
  readonly 'sec-fetch-site'?: string | string[] | undefined;
}

/** Null when the request may change something here; otherwise the reason of the refusal. */
export function crossSiteProblem(headers: Sent, { provisioned }: { provisioned: boolean }): string | null {
  const { origin, 'sec-fetch-site': site } = headers;
  if (origin === undefined && site === undefined) return null;
  if (!isOwnPage(headers)) return `A page of another site (${origin ?? site}) may change nothing here.`;
  // DNS rebinding: an attacker's name may resolve to this node, and the browser then takes every page under it for ours.
  if (provisioned || isPrivateName(headers.host ?? '')) return null;
  return 'Before the node is set up, browsers must call it by an address or by localhost to change something.';
}

/** The browser's header takes precedence: a proxy may have replaced the Host header. */
function isOwnPage({ host, origin, 'sec-fetch-site': site }: Sent): boolean {
  if (site !== undefined) return site === 'same-origin' || site === 'none';
  if (origin === undefined || host === undefined || !URL.canParse(origin)) return false;
  const { protocol, host: from } = new URL(origin);
  return URL.canParse(`${protocol}//${host}`) && new URL(`${protocol}//${host}`).host === from;
}

/** An address, or a name that public name servers do not resolve. */
function isPrivateName(host: string): boolean {
  const name = host.replace(/:\d+$/, '');
  return /^(\d+(\.\d+){3}|\[[0-9a-f:.]+\]|([^.]+\.)*localhost|[^.]+)$/i.test(name);
}
