// Routes of the page that shows the node. Its files are public: the page asks for credentials and shows answers of the REST API.
import { type Answer, defineRoute } from '#contract/route.ts';

const file = (id: string, path: string, doc: string, text: Exclude<Answer['text'], undefined>) =>
  defineRoute({
    id: `ui.${id}`,
    method: 'GET',
    path,
    access: { kind: 'anyone' },
    openBeforeProvisioning: true,
    answer: { text },
    doc: `${doc} 404 if a security setting disables the page.`,
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

export const GetPage = file('page', '/ui/', 'Shows this node, its buckets and its tasks.', 'text/html');
export const GetStyle = file('style', '/ui/style.css', 'The style sheet of the page.', 'text/css');
export const GetScript = file('script', '/ui/app.js', 'The script of the page.', 'text/javascript');
