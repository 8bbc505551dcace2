// What a wrong command line answers: what is wrong in it, and what would be right. Nothing is created or changed.
import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { runCommand } from '../support/command.ts';

const scratch = mkdtempSync(join(tmpdir(), 'divan-wrong-'));
after(() => rmSync(scratch, { recursive: true, force: true }));
const environment = { DIVAN_DATA_DIR: join(scratch, 'data') };

const messages: Record<string, string> = {
  nod: 'unknown command "nod"; did you mean "node"?',
  '--rest-port 1':
    '"--rest-port" is given before a command: divan COMMAND --rest-port …; the commands are up, node',
  'node data': '"data" is not an option; options look like --name VALUE',
  'node -p 1': '"-p" is not an option; options look like --name VALUE',
  'node --rest_port 1': 'unknown option --rest_port; did you mean --rest-port?',
  'node --REST-PORT=1': 'unknown option --REST-PORT; did you mean --rest-port?',
  'node --rest-port': '--rest-port needs a value: --rest-port PORT',
  'node --rest-port 1 --rest-port 2': '--rest-port is given twice; give it once',
  'node --username u --password p': '--password: needs at least 6 characters',
  'node --username u --password p --services index':
    '--services: the first node of a cluster needs the service kv',
  'up --services n1ql': '--services: the first node of a cluster needs the service kv',
  'node --services index,foo': '--services: this version does not have the service "foo"',
  'node --memory-quota 1': '--memory-quota: needs at least 256 MB',
  'node --memory-quota 999999999': '--memory-quota: this machine allows at most ',
  'up --nodes 28': '--nodes: "28" is not a whole number from 1 to 27',
  'query --url foo': '--url: "foo" is not an address such as http://127.0.0.1:8093',
  'bucket list --url 127.0.0.1:8091':
    '--url: "127.0.0.1:8091" is not an address such as http://127.0.0.1:8091',
  'backup a b': '"b" is one word too many; the form is divan backup FOLDER',
  'backup list': 'FOLDER is missing; the form is divan backup list FOLDER',
  'backup list a b': '"b" is one word too many; the form is divan backup list FOLDER',
  'backup lst a': 'there is no "divan backup lst"; did you mean "divan backup list"?',
  'backup -f a': '"-f" is not an option; options look like --name VALUE',
  'backup a -f': '"-f" is not an option; options look like --name VALUE',
  'backup --FULL': 'unknown option --FULL; did you mean --full?',
  'backup remove a': '--backup is missing: give --backup NAME',
  'backup examine a': '--bucket is missing: give --bucket TEXT',
  restore: 'FOLDER is missing; the form is divan restore FOLDER',
  'restore a b': '"b" is one word too many; the form is divan restore FOLDER',
  'cloud token create': '--role is missing: give --role organizationOwner|projectOwner|projectViewer|reader',
  'cloud token create --role projectOwner':
    '--project is missing: the role projectOwner is for one project, give its id',
  'cloud user add a b': 'EMAIL: must be an e-mail address',
  'cloud cloud add --name a --provider aws --region us-east-1 --cidr x': '--cidr: must be an IPv4 network',
  'cloud token revoke': 'ID is missing; the form is divan cloud token revoke ID',
  'cloud token revoke a b': '"b" is not an option; options look like --name VALUE',
  bucket: 'a verb is missing; the verbs are list, create',
  'bucket creat b': 'there is no "divan bucket creat"; did you mean "divan bucket create"?',
  'bucket create': 'NAME is missing; the form is divan bucket create NAME',
  'bucket create a b': '"b" is one word too many; the form is divan bucket create NAME',
  'doc get b': 'KEY is missing; the form is divan doc get BUCKET KEY',
  'doc set b k': 'VALUE is missing: give it, or --file PATH',
  'doc set b k 1 --file f': 'VALUE and --file are given; give one of them',
  'metrics --since 5m': 'NAME is missing: --since is for one metric, divan metrics NAME --since TIME',
  sample: 'a verb is missing; the only one is travel',
  'logs x': '"x" is one word too many; the form is divan logs',
};

for (const [line, message] of Object.entries(messages))
  test(`"divan ${line}" says what is wrong, and creates nothing`, async () => {
    const { status, error } = await runCommand(line.split(' '), environment);
    assert.equal(error.slice(0, 7 + message.length), `divan: ${message}`);
    assert.equal(status, 2);
    assert.equal(existsSync(environment.DIVAN_DATA_DIR), false);
  });
