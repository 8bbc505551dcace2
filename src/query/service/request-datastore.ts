// The datastore of one request: keyspaces of the cluster, documents of the data service, and the catalog as its
// callers may see it.
import type { Datastore } from '#sqlpp/run/engine.ts';
import type { Session } from '../access/session.ts';
import { RequestCatalog } from '../catalog/request-catalog.ts';
import { WireDocuments } from '../data/wire-documents.ts';
import type { QueryParts } from '../state/parts.ts';

export function requestDatastore(service: QueryParts, session: Session): Datastore {
  const { clients, keyspaces, indexes, indexAdmin } = service.deps;
  return {
    find: (name) => keyspaces.find(name),
    documents: new WireDocuments(clients),
    indexes,
    indexAdmin,
    catalog: new RequestCatalog(service, session),
  };
}
