// Maps requests that add, join and remove nodes to the services, and the calls between the two nodes of a join.
import { type BoundRoute, bind, type Context, type Form, reply } from '#contract/route.ts';
import { readAddForm } from './add-form.ts';
import type { AddingService } from './adding.service.ts';
import * as contract from './joining.contract.ts';
import type { JoiningService } from './joining.service.ts';

export interface JoiningRoutesDeps {
  adding: AddingService;
  joining: JoiningService;
}

export function joiningRoutes({ adding, joining }: JoiningRoutesDeps): BoundRoute[] {
  const add = async ({ body }: { body: Form }) =>
    reply.json({ otpNode: await adding.add(readAddForm(body)) });
  return [
    bind(contract.AddNode, add),
    bind(contract.AddNodeV2, add),
    bind(contract.AddNodeToGroup, async ({ params, body }) =>
      reply.json({ otpNode: await adding.add({ ...readAddForm(body), group: params['uuid'] ?? '' }) }),
    ),
    bind(contract.Eject, async ({ body }) => {
      await adding.eject(body['otpNode']);
      return reply.empty();
    }),
    bind(contract.Join, async ({ body }) => {
      await joining.join(body);
      return reply.empty();
    }),
    bind(contract.Engage, ({ body }) => reply.json(joining.engage(body))),
    bind(contract.Complete, async ({ body }, context) => {
      await joining.complete(body, credentialsOf(context));
      return reply.empty();
    }),
  ];
}

/** `user:password` of the call; `:` if it has no credentials. */
function credentialsOf({ headers }: Context): string {
  const [, encoded = ''] = /^Basic (\S+)$/i.exec(String(headers['authorization'] ?? '')) ?? [];
  return encoded === '' ? ':' : Buffer.from(encoded, 'base64').toString();
}
