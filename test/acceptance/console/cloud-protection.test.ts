// What the cloud's console is protected against: scripts in names, an expired token, a lost cloud, roles without rights.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Browser, Locator } from 'playwright-core';
import { aCluster, hostedCluster, untilStatus } from '../../support/cloud-cluster.ts';
import { createToken, operator } from '../../support/cloud-operator.ts';
import { CloudProcess } from '../../support/cloud-process.ts';
import { goTo, goToPart, launchBrowser, openPage, signInToCloud } from '../../support/console.ts';
import { needs } from '../../support/needs.ts';
import { eventually, eventuallyWithin } from '../../support/node-process.ts';

const restartMs = 240_000;
const script = '<img src=x onerror="document.title=1"><script>document.title=2</script>';

describe('the console of the cloud', { skip: needs('chromium') }, () => {
  let browser: Browser;
  let cloud: CloudProcess;
  before(async () => {
    browser = await launchBrowser();
    cloud = await CloudProcess.start();
  });
  after(async () => {
    await browser?.close();
    await cloud?.[Symbol.asyncDispose]();
  });

  it('shows scripts in names, descriptions and comments as text', async () => {
    const { body } = await cloud.request('POST', '/v2/projects', { name: script });
    const hostile = hostedCluster(body.id, { clusterName: script, description: script });
    const created = await cloud.request('POST', '/v3/clusters', hostile);
    const path = created.headers.get('location') as string;
    const { id } = await untilStatus(cloud, path, 'healthy');
    const entry = { cidrBlock: '10.0.0.0/8', ruleType: 'permanent', comment: script };
    assert.equal((await cloud.request('POST', `${path}/allowlist`, entry)).status, 202);
    await using opened = await openPage(browser, cloud.ready.api);
    const { page, problems } = opened;
    const assertText = async (what: string, shown: Locator) => {
      await shown.waitFor();
      assert.equal(await page.locator('img, main script, dialog script').count(), 0, what);
    };
    await signInToCloud(page, cloud.ready.token);
    await assertText('projects', page.getByRole('link', { name: script }));
    await page.getByRole('button', { name: `Delete ${script}` }).click();
    await assertText('confirmation', page.getByRole('dialog').getByText(script));
    await page.keyboard.press('Escape');
    await goTo(page, 'Clusters');
    await assertText('clusters', page.getByRole('link', { name: script }));
    await page.goto(`${cloud.ready.api}/#/cluster/${id}`);
    await page.getByRole('heading', { level: 1, name: script }).waitFor();
    await assertText('overview', page.getByRole('definition').getByText(script));
    await goToPart(page, 'Allowlist');
    await assertText('allowlist', page.getByRole('cell', { name: script }));
    for (const part of [script, 'constructor']) {
      await page.goto(`${cloud.ready.api}/#/cluster/${id}/${encodeURIComponent(part)}`);
      await page.getByText(`A cluster has no page “${part}”.`).waitFor();
      await page.goto(`${cloud.ready.api}/#/${encodeURIComponent(part)}`);
      await page.getByText(`There is no page “${part}”.`).waitFor();
    }
    assert.deepEqual(problems, []);
  });

  it('runs no script that is injected into the page, and no HTML from text', async () => {
    await using opened = await openPage(browser, cloud.ready.api);
    const { page, problems } = opened;
    await page.getByLabel('Token').waitFor();
    const title = await page.title();
    await page.evaluate(`{
      const inline = document.createElement('script');
      inline.append('document.title = "taken"');
      document.body.append(inline);
      const other = document.createElement('img');
      other.src = 'http://127.0.0.2/x.png';
      document.body.append(other);
      try { document.body.innerHTML = '<b>taken</b>' } catch (error) { console.error(error.message) }
    }`);
    assert.equal(await page.title(), title);
    for (const refused of ['TrustedScript', 'img-src', 'TrustedHTML'])
      await eventually(() =>
        assert.ok(
          problems.some((text) => text.includes(refused)),
          `${refused}: ${problems.join('\n')}`,
        ),
      );
  });

  it('calls no other address, and keeps the token nowhere in the browser', async () => {
    await using opened = await openPage(browser, cloud.ready.api);
    const { page } = opened;
    const origins = new Set<string>();
    page.on('request', (request) => origins.add(new URL(request.url()).origin));
    await page.reload();
    await signInToCloud(page, cloud.ready.token);
    await goTo(page, 'Organization');
    await page.getByRole('table').first().waitFor();
    assert.deepEqual([...origins], [new URL(cloud.ready.api).origin]);
    const kept = await page.evaluate<string>('JSON.stringify([localStorage, sessionStorage, location.href])');
    assert.ok(!kept.includes(cloud.ready.token));
    assert.deepEqual(await page.context().cookies(), []);
    await page.reload();
    await page.getByLabel('Token').waitFor();
    assert.equal(await page.getByLabel('Token').inputValue(), '');
  });

  it('refuses a wrong token with the reason, and one that no header can contain at its field', async () => {
    await using opened = await openPage(browser, cloud.ready.api);
    const { page } = opened;
    await signInToCloud(page, 'wrong');
    await page.getByText('this token is unknown, revoked or has expired').waitFor();
    await signInToCloud(page, 'tökén');
    await page.locator('.problem').getByText('This must be ASCII').waitFor();
    assert.equal(await page.getByLabel('Token').getAttribute('aria-invalid'), 'true');
  });

  it('signs in with a pair of keys, whose secret is not sent', async () => {
    await using opened = await openPage(browser, cloud.ready.api);
    const { page } = opened;
    const sent: string[] = [];
    page.on('request', (request) => sent.push(JSON.stringify(request.headers()), request.postData() ?? ''));
    await page.getByLabel('With', { exact: true }).selectOption('keys');
    await page.getByLabel('Access key').fill(cloud.ready.accessKey);
    await page.getByLabel('Secret key').fill(cloud.ready.secretKey);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await goTo(page, 'Organization');
    await page.getByRole('region', { name: 'People' }).waitFor();
    await goTo(page, 'Projects');
    await page.getByRole('button', { name: 'Create project' }).click();
    await page.getByLabel('Project name').fill('signed ü');
    await page.getByRole('button', { name: 'Create', exact: true }).click();
    await page.getByRole('link', { name: 'signed ü' }).waitFor();
    assert.ok(sent.some((headers) => headers.includes(cloud.ready.accessKey)));
    assert.ok(!sent.some((text) => text.includes(cloud.ready.secretKey)));
  });

  it('asks for a token again when the one in use is revoked, and keeps what a form contains', async () => {
    const { id, token } = createToken(cloud, '--role', 'organizationOwner');
    await using opened = await openPage(browser, cloud.ready.api);
    const { page } = opened;
    await signInToCloud(page, token);
    await page.getByRole('button', { name: 'Create project' }).click();
    const form = page.getByRole('dialog').first();
    await form.getByLabel('Project name').fill('kept');
    assert.equal(operator(cloud, 'token', 'revoke', id).status, 0);
    await form.getByRole('button', { name: 'Create' }).click();
    const again = page.getByRole('dialog', { name: 'The session has ended' });
    await again.getByLabel('Token').fill(cloud.ready.token);
    await again.getByRole('button', { name: 'Sign in' }).click();
    await again.waitFor({ state: 'detached' });
    assert.equal(await form.getByLabel('Project name').inputValue(), 'kept');
    await form.getByRole('button', { name: 'Create' }).click();
    await page.getByRole('link', { name: 'kept' }).waitFor();
  });

  it('shows a role what it may not do, and when its token expires', async () => {
    const { token } = createToken(cloud, '--role', 'reader', '--expires', '90d');
    await using opened = await openPage(browser, cloud.ready.api);
    const { page } = opened;
    await signInToCloud(page, token);
    await page.getByText(/^reader, until /).waitFor();
    await page.getByRole('button', { name: 'Create project' }).click();
    const form = page.getByRole('dialog');
    await form.getByLabel('Project name').fill('refused');
    await form.getByRole('button', { name: 'Create' }).click();
    await form.getByText('this needs the role organizationOwner; this token has reader').waitFor();
  });

  it('shows a token of one project no parts of a cluster that is deleted, or of another project', async () => {
    const { body } = await cloud.request('POST', '/v2/projects', { name: 'theirs' });
    const { token } = createToken(cloud, '--role', 'projectViewer', '--project', body.id);
    await using opened = await openPage(browser, cloud.ready.api);
    const { page } = opened;
    await signInToCloud(page, token);
    await page.getByRole('heading', { level: 1, name: 'Projects' }).waitFor();
    await page.goto(`${cloud.ready.api}/#/cluster/00000000-0000-4000-8000-000000000000`);
    await page.getByText('The cluster does not exist, or this token has no role for it.').waitFor();
    assert.equal(await page.getByRole('link', { name: 'Allowlist' }).count(), 0);
  });

  it('says that the cloud does not answer, keeps what it showed, and goes on when the cloud is back', async () => {
    await using first = await CloudProcess.start();
    const { token } = createToken(first, '--role', 'organizationOwner');
    await aCluster(first, { name: 'orders' });
    await using opened = await openPage(browser, first.ready.api);
    const { page } = opened;
    await signInToCloud(page, token);
    await goTo(page, 'Clusters');
    await page.getByRole('link', { name: 'orders' }).click();
    // The list says `healthy` as well: only the cluster's own page has this button, once it has its data.
    const edit = page.getByRole('button', { name: 'Edit', exact: true });
    await edit.waitFor();
    await first.stop('SIGKILL');
    await edit.click();
    const form = page.getByRole('dialog');
    await form.getByLabel('Cluster name').fill('renamed');
    await form.getByRole('button', { name: 'Save' }).click();
    await form.getByText('The cloud does not answer.').waitFor();
    const { port } = new URL(first.ready.api);
    // For a moment another process may have the port.
    await using second = await eventuallyWithin(restartMs, () =>
      CloudProcess.start({ dataDir: first.dataDir, port: Number(port) }),
    );
    assert.equal(second.ready.api, first.ready.api);
    await form.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('heading', { level: 1, name: 'renamed' }).waitFor();
    await page.getByText('The cloud does not answer.').first().waitFor({ state: 'detached' });
  });
});
