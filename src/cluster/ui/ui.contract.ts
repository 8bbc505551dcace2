// Routes of the page that shows the node. It holds nothing that needs credentials: it asks for them and shows the
// API's answers.
import { type Answer, defineRoute } from '#contract/route.ts';

const file = (id: string, path: string, doc: string, text: Exclude<Answer['text'], undefined>) =>
  defineRoute({
    id: `ui.${id}`,
    method: 'GET',
    path,
    access: { kind: 'anyone' },
    openBeforeProvisioning: true,
    answer: { text },
    doc: `${doc} 404 where a security setting has switched the page off.`,
  });

export const GetRoot = defineRoute({
  id: 'ui.root',
  method: 'GET',
  path: '/',
  access: { kind: 'anyone' },
  openBeforeProvisioning: true,
  answer: { status: 301 },
  doc: 'Leads browsers to the page of this node.',
});

export const GetPage = file('page', '/ui/', 'Shows this node, its buckets and its tasks.', 'text/html');
export const GetStyle = file('style', '/ui/style.css', 'How that page looks.', 'text/css');
export const GetScript = file('script', '/ui/app.js', 'What that page does.', 'text/javascript');
