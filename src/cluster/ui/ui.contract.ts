// Routes of the web console. Its files are public: the console asks for credentials and shows answers of the REST API.
import { type Answer, defineRoute } from '#contract/route.ts';

const file = (id: string, path: string, doc: string, text: Exclude<Answer['text'], undefined>) =>
  defineRoute({
    id: `ui.${id}`,
    method: 'GET',
    path,
    access: { kind: 'anyone' },
    openBeforeProvisioning: true,
    answer: { text },
    doc: `${doc} 404 if a security setting disables it.`,
  });

export const GetRoot = defineRoute({
  id: 'ui.root',
  method: 'GET',
  path: '/',
  access: { kind: 'anyone' },
  openBeforeProvisioning: true,
  answer: { status: 301 },
  doc: 'Redirects browsers to the page of this node.',
});

/** The published address of the console, which bookmarks and tools have. */
export const GetPublishedPage = defineRoute({
  ...GetRoot,
  id: 'ui.published_page',
  path: '/ui/index.html',
});

export const GetConsole = file('page', '/ui/', 'The web console of this node.', 'text/html');
export const GetAsset = file(
  'asset',
  '/ui/assets/:file',
  'A script or a style sheet of the web console, by its name.',
  'text/javascript',
);

export const OpenSession = defineRoute({
  id: 'ui.login',
  method: 'POST',
  path: '/uilogin',
  access: { kind: 'authenticated' },
  changesNothing: true,
  answer: {},
  doc: 'Opens a session of the console for the caller, who sends Basic credentials, and sets its cookie. The cookie is accepted only in requests with the header `ns-server-ui: yes`; a session ends after 30 minutes without a request.',
});

export const EndSession = defineRoute({
  id: 'ui.logout',
  method: 'POST',
  path: '/uilogout',
  access: { kind: 'anyone' },
  changesNothing: true,
  answer: {},
  doc: 'Ends the session of the cookie.',
});
