import assert from 'node:assert/strict';
import { it } from 'node:test';
import { once } from '../../src/base/waits-fixture.ts';
import { agentAddress, ConnectedServer } from '../support/node-agent/connected-server.ts';

it('a server that stops ends what it has connected', async () => {
  await using other = await ConnectedServer.start();
  await other.create('/api/v1/nodes', {
    metadata: { name: 'n1' },
    status: { addresses: [{ type: 'InternalIP', address: agentAddress }] },
  });
  let isOver = false;
  other.agent.answer = (_request, response) => {
    response.write('x');
    response.on('close', () => {
      isOver = true;
    });
  };
  const client = await other.open();
  client.write(ConnectedServer.text('GET', '/api/v1/nodes/n1/proxy/x'));
  await once(client, 'data');
  await other.stop();
  assert.equal(isOver, true);
  client.destroy();
});
