// The frame of the console: who is signed in, the menu, the theme, and the current page.
import type { ComponentType } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { ApiError, call, onSignedOut } from '../api/client.ts';
import { routes } from '../api/routes.ts';
import type { Identity } from '../api/types.ts';
import { Button, Select } from '../kit/controls.tsx';
import { Dialog } from '../kit/dialog.tsx';
import { Problem } from '../kit/notices.tsx';
import { applyTheme, chosenTheme, type Theme, themes } from '../kit/theme.ts';
import { asApiError, signedInAgain } from '../kit/use-resource.ts';
import { type PageProps, pages } from './pages.ts';
import { addressTo, useAddress } from './router.ts';
import { SignInForm } from './sign-in.tsx';

/** What the node says about the caller at the start, and after each change of it. */
type State =
  | { readonly kind: 'loading' }
  | { readonly kind: 'unreachable'; readonly problem: ApiError }
  | { readonly kind: 'new' }
  | { readonly kind: 'signed-out' }
  | { readonly kind: 'signed-in'; readonly identity: Identity };

export function Shell() {
  const [state, setState] = useState<State>({ kind: 'loading' });
  const refresh = () => void currentState().then(setState);
  useEffect(refresh, []);
  if (state.kind === 'loading') return <p class="alone">Loading…</p>;
  if (state.kind === 'unreachable')
    return (
      <main class="alone">
        <h1>Divan</h1>
        <Problem problem={state.problem} />
        <Button onClick={refresh}>Try again</Button>
      </main>
    );
  if (state.kind === 'signed-in') return <Frame identity={state.identity} onChange={refresh} />;
  return (
    <main class="alone">
      <h1>{state.kind === 'new' ? 'Divan: this node is not set up yet' : 'Divan: sign in'}</h1>
      {state.kind === 'new' ? <SetUp onDone={refresh} /> : <SignInForm onSignedIn={refresh} />}
    </main>
  );
}

async function currentState(): Promise<State> {
  try {
    const identity = await call<Identity>(routes.whoAmI);
    if (identity.domain !== 'anonymous') return { kind: 'signed-in', identity };
    const isNew = await call(routes.cluster).catch((error: ApiError) => error.status === 404);
    return { kind: isNew === true ? 'new' : 'signed-out' };
  } catch (error) {
    return { kind: 'unreachable', problem: asApiError(error) };
  }
}

function SetUp({ onDone }: { onDone: () => void }) {
  const [Form, setForm] = useState<ComponentType<{ onDone: () => void }>>();
  useEffect(() => void import('../pages/set-up.tsx').then(({ SetUpForm }) => setForm(() => SetUpForm)), []);
  return Form ? <Form onDone={onDone} /> : <p class="quiet">Loading…</p>;
}

function Frame({ identity, onChange }: { identity: Identity; onChange: () => void }) {
  const address = useAddress();
  const [isMenuOpen, setMenuOpen] = useState(false);
  const [isSignedOut, setSignedOut] = useState(false);
  useEffect(() => onSignedOut(() => setSignedOut(true)), []);
  const main = useRef<HTMLElement>(null);
  return (
    <div class="shell">
      <button type="button" class="skip" onClick={() => main.current?.querySelector('h1')?.focus()}>
        Skip to the content
      </button>
      <header>
        <span class="menu">
          <Button onClick={() => setMenuOpen(!isMenuOpen)} expanded={isMenuOpen}>
            Menu
          </Button>
        </span>
        <p class="brand">Divan</p>
        <span class="quiet">{identity.id}</span>
        <a href="/docs">Manual</a>
        <a href="/docs/api">REST API</a>
        <ThemeChoice />
        <Button onClick={() => void call(routes.signOut).then(onChange)}>Sign out</Button>
      </header>
      <nav aria-label="Pages" class={isMenuOpen ? 'open' : ''}>
        <ul>
          {Object.entries(pages).map(([name, { title }]) => (
            <li key={name}>
              <a
                href={addressTo([name])}
                aria-current={address.page === name ? 'page' : undefined}
                onClick={() => setMenuOpen(false)}
              >
                {title}
              </a>
            </li>
          ))}
        </ul>
      </nav>
      <main ref={main}>
        <CurrentPage key={address.page} address={address} />
      </main>
      {isSignedOut && (
        <Dialog title="The session has ended: sign in again" onClose={onChange}>
          <SignInForm
            onSignedIn={() => {
              setSignedOut(false);
              dispatchEvent(new Event(signedInAgain));
            }}
          />
        </Dialog>
      )}
    </div>
  );
}

function ThemeChoice() {
  const [theme, setTheme] = useState<Theme>(chosenTheme());
  const change = (value: string) => {
    const chosen = themes.find((each) => each === value) ?? 'system';
    applyTheme(chosen);
    setTheme(chosen);
  };
  const names = { system: 'System colours', light: 'Light', dark: 'Dark' };
  return (
    <Select
      label="Theme"
      value={theme}
      onChange={change}
      options={themes.map((each) => [each, names[each]] as const)}
    />
  );
}

function CurrentPage({ address }: PageProps) {
  const [Content, setContent] = useState<ComponentType<PageProps>>();
  const [problem, setProblem] = useState<ApiError>();
  const entry = pages[address.page];
  useEffect(() => {
    document.title = entry ? `${entry.title} · Divan` : 'Divan';
    entry?.load().then(
      (module) => setContent(() => module.Content),
      () => setProblem(new ApiError(0, 'The page could not be loaded: the node does not answer.')),
    );
  }, [entry]);
  useEffect(() => {
    if (Content) document.querySelector<HTMLElement>('main h1')?.focus();
  }, [Content]);
  if (!entry) return <p>There is no page “{address.page}”.</p>;
  if (problem) return <Problem problem={problem} />;
  return Content ? <Content address={address} /> : <p class="quiet">Loading…</p>;
}
