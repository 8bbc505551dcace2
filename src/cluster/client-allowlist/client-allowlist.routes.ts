// Handlers of the allowlist. A list without the address of its sender is refused, since the sender could not undo it. A node with
// --operator-address accepts such a list: it always admits that address, from which the operator can undo the list.
import { type BoundRoute, bind, type Context, reply } from '#contract/route.ts';
import { ClientGate } from '#ports/client-gate.ts';
import { applyWaitMs } from '../config/apply-wait.ts';
import type { DataService } from '../config/data-service.ts';
import { settingsRefusals } from '../refusals/settings.refusals.ts';
import {
  allowlistRecord,
  ClearClientAllowlist,
  GetClientAllowlist,
  SetClientAllowlist,
} from './client-allowlist.contract.ts';
import { type ClientAllowlist, problemOf } from './client-allowlist.ts';

export interface AllowlistRouteParts {
  allowlist: ClientAllowlist;
  /** The answer waits until the ports of the data service apply the list, too. */
  data: Pick<DataService, 'applied'>;
}

export const clientAllowlistRoutes = ({ allowlist, data }: AllowlistRouteParts): BoundRoute[] => [
  bind(GetClientAllowlist, () => reply.json(allowlistRecord(allowlist.entries))),
  bind(SetClientAllowlist, async ({ body }, context) => {
    const problem = problemOf(body) ?? lockedOut(allowlist, body as { entries: string[] }, context);
    if (problem !== null) throw settingsRefusals.invalidClientAllowlist({ problem });
    const { entries } = body as { entries: string[] };
    await data.applied(await allowlist.set(entries), applyWaitMs);
    return reply.json(allowlistRecord(allowlist.entries));
  }),
  bind(ClearClientAllowlist, async () => {
    await data.applied(await allowlist.set(null), applyWaitMs);
    return reply.empty();
  }),
];

function lockedOut(
  allowlist: ClientAllowlist,
  { entries }: { entries: string[] },
  context: Context,
): string | null {
  if (allowlist.hasOperatorAddress) return null;
  const gate = new ClientGate();
  gate.admitOnly(entries);
  if (gate.admits(context.remoteAddress)) return null;
  return `must contain the address that this request comes from, ${context.remoteAddress}, or it would lock you out`;
}
