// Protection against cross-site requests. A browser that has credentials for this node adds them also to forms that pages of other sites
// submit to it, and before the node has an administrator no credentials are needed. Only browsers send the headers that are
// checked here.
import type { AppError } from '#contract/errors.ts';
import { httpRefusals } from './http.refusals.ts';

interface Sent {
  readonly host?: string | undefined;
  readonly origin?: string | undefined;
  readonly 'sec-fetch-site'?: string | string[] | undefined;
}

/** Null when the request may change something here. */
export function crossSiteRefusal(
  headers: Sent,
  { isProvisioned }: { isProvisioned: boolean },
): AppError | null {
  const { origin, 'sec-fetch-site': site } = headers;
  if (origin === undefined && site === undefined) return null;
  if (!isOwnPage(headers)) return httpRefusals.otherSite({ site: String(origin ?? site) });
  // DNS rebinding: an attacker's name may resolve to this node, and the browser then treats pages under that name as pages of this node.
  if (isProvisioned || isPrivateName(headers.host ?? '')) return null;
  return httpRefusals.publicName();
}

/** `Sec-Fetch-Site` takes precedence over comparing Origin with Host: a proxy may have replaced the Host header. */
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
