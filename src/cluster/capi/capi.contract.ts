// Routes of the view ports, which have their own listeners. Views are not available: the answers say so.
import { defineRoute, type Method } from '#contract/route.ts';

export const CapiRoot = defineRoute({
  id: 'capi.root',
  method: 'GET',
  path: '/',
  access: { kind: 'anyone' },
  openBeforeProvisioning: true,
  doc: 'View ports: confirms that the port is served.',
});

/** `base` is a bucket's name, or name and uuid joined by `+`, as in bucket records. */
export const CapiBucket = defineRoute({
  id: 'capi.bucket',
  method: 'GET',
  path: '/:base',
  access: { kind: 'authenticated' },
  doc: 'View ports: confirms that the bucket exists.',
});

const noViews = (id: string, method: Method, path: string) =>
  defineRoute({
    id: `capi.${id}`,
    method,
    path,
    access: { kind: 'authenticated' },
    ...(method === 'GET' ? {} : { changesNothing: true }),
    doc: 'View ports: refused with 404, since this version serves no views.',
  });

const designDocument = '/:base/_design/:document';
const viewOfDocument = `${designDocument}/_view/:view`;

/** Requests for design documents and views, in all the ways in which published clients send them. */
export const refusedForLackOfViews = [
  noViews('design_document', 'GET', designDocument),
  noViews('store_design_document', 'PUT', designDocument),
  noViews('drop_design_document', 'DELETE', designDocument),
  noViews('view', 'GET', viewOfDocument),
  noViews('view_of_keys', 'POST', viewOfDocument),
];
