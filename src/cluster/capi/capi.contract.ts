// Routes of the view ports, which have their own listeners. Views are not available: the answers say so.
import { defineRoute } from '#contract/route.ts';

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

export const CapiDesignDocument = defineRoute({
  id: 'capi.design_document',
  method: 'GET',
  path: '/:base/_design/:document',
  access: { kind: 'authenticated' },
  doc: 'View ports: refused with 404, since this version serves no views.',
});

export const CapiView = defineRoute({
  id: 'capi.view',
  method: 'GET',
  path: '/:base/_design/:document/_view/:view',
  access: { kind: 'authenticated' },
  doc: 'View ports: refused with 404, since this version serves no views.',
});
