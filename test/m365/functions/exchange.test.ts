// Particulars of the Exchange functions and of notifications: addresses that must survive, mailboxes that appear too early or
// never, hosts that must not be called.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, it } from 'node:test'
import { CASES } from './cases.ts'
import { type Setting, within } from './setting.ts'
import { fails, story, succeeds, userOf } from './story.ts'
import { BOX, id, OBRIEN } from './tenants.ts'

const KIM = "kim.o'brien@contoso.example"

describe('addresses', () => {
  story('keep prefixes other than SMTP', async (s) => {
    const given = { Identity: KIM, EmailAddress: 'X500:/o=Old/cn=Kim' }
    assert.equal((await succeeds(s, 'Add-ExchangeSecondaryEmail', given)).Changed, true)
    assert.equal((await succeeds(s, 'Add-ExchangeSecondaryEmail', given)).Changed, false)
    const kept = userOf(s, OBRIEN).proxyAddresses.filter((one) => /^x500:/i.test(one))
    assert.equal(kept.length, 2)
  })

  story('change on a mailbox as on a mail user', async (s) => {
    const given = { Identity: 'box@contoso.example', NewPrimaryEmail: 'SMTP:post@contoso.example' }
    await succeeds(s, 'Set-ExchangePrimaryEmail', given)
    assert.deepEqual(userOf(s, BOX).proxyAddresses, [
      'SMTP:post@contoso.example',
      'smtp:box@contoso.example',
    ])
  })

  story('cannot be removed when primary', (s) =>
    fails(
      s,
      'Remove-ExchangeSecondaryEmail',
      { Identity: KIM, EmailAddress: KIM.toUpperCase() },
      'Refused',
      /is the primary address .* Set-ExchangePrimaryEmail/,
    ),
  )

  story('are refused by Exchange when another recipient has them', (s) =>
    fails(
      s,
      'Add-ExchangeSecondaryEmail',
      { Identity: KIM, EmailAddress: 'box@contoso.example' },
      'ProxyAddressExistsException',
      /ProxyAddressExistsException.*already being used/,
    ),
  )

  story('the external address does not become the primary one', async (s) => {
    const toOld = { Identity: KIM, ExternalEmailAddress: 'kim@partner.example' }
    await succeeds(s, 'Set-ExchangeExternalAddress', toOld)
    assert.ok(userOf(s, OBRIEN).proxyAddresses.includes(`SMTP:${KIM}`))
  })

  story('a mailbox has no external address', (s) =>
    fails(
      s,
      'Set-ExchangeExternalAddress',
      { Identity: 'box@contoso.example', ExternalEmailAddress: 'x@partner.example' },
      'Refused',
      /is a mailbox, .* Set-ExchangeForwarding/,
    ),
  )

  story(
    'waits for a recipient that appears late in Exchange',
    async (s) => {
      const { params } = CASES['New-ExchangeMailUser']!
      const { Id } = await succeeds(s, 'New-ExchangeMailUser', params)
      const given = { Identity: Id!, ExchangeGuid: id(600), ArchiveGuid: null }
      assert.equal((await succeeds(s, 'Set-ExchangeMailUserGuids', given)).Changed, true)
    },
    { lagSec: 10 },
  )
})

describe('lists of addresses', () => {
  story('of a person without any are left alone', async (s) => {
    for (const EmailAddress of [[], '', null]) {
      const done = await succeeds(s, 'Add-ExchangeSecondaryEmail', { Identity: KIM, EmailAddress })
      assert.deepEqual([done.Changed, s.effects()], [false, []])
    }
  })

  story('are added to a mailbox without rewriting its list', async (s) => {
    const given = { Identity: BOX, EmailAddress: ['a@contoso.example', 'b@contoso.example'] }
    await succeeds(s, 'Add-ExchangeSecondaryEmail', given)
    await succeeds(s, 'Remove-ExchangeSecondaryEmail', {
      ...given,
      EmailAddress: 'a@contoso.example',
    })
    assert.deepEqual(userOf(s, BOX).proxyAddresses, [
      'SMTP:box@contoso.example',
      'smtp:b@contoso.example',
    ])
  })
})

/** Stamps the target with what its source has. */
async function prepare(s: Setting) {
  const from = await succeeds({ run: s.runAtSource }, 'Get-ExchangeMoveSource', {
    Identity: "kim.o'brien@fabrikam.example",
  })
  const { ExchangeGuid, ArchiveGuid, X500Addresses } = from
  return succeeds(s, 'Set-ExchangeMoveTarget', {
    Identity: KIM,
    TargetDeliveryDomain: 'contoso.onmicrosoft.com',
    ExchangeGuid: ExchangeGuid!,
    ArchiveGuid: ArchiveGuid!,
    X500Addresses: X500Addresses!,
  })
}

describe('mailboxes', () => {
  story('refuses to stamp GUIDs on an existing mailbox', (s) =>
    fails(
      s,
      'Set-ExchangeMailUserGuids',
      { Identity: 'box@contoso.example', ExchangeGuid: id(600) },
      'Refused',
      /already has a mailbox.*licence too early/,
    ),
  )

  story('forwarding does not stop because a parameter is missing', (s) =>
    fails(
      s,
      'Set-ExchangeForwarding',
      { Identity: BOX },
      'UnfitParameters',
      /ForwardingSmtpAddress/,
    ),
  )

  story('forwarding stops with null', async (s) => {
    const { params } = CASES['Set-ExchangeForwarding']!
    await succeeds(s, 'Set-ExchangeForwarding', params)
    const off = { Identity: BOX, ForwardingSmtpAddress: '' }
    const ended = await succeeds(s, 'Set-ExchangeForwarding', off)
    assert.partialDeepStrictEqual(ended, { ForwardingSmtpAddress: null, Changed: true })
    assert.equal(userOf(s, BOX).recipient!.forwardingSmtpAddress, null)
    assert.equal(userOf(s, BOX).recipient!.deliverToMailboxAndForward, false)
  })

  story('forwarding ends a recipient of the tenant that Exchange would prefer', async (s) => {
    const inside = { Identity: BOX, ForwardingAddress: 'lead' }
    await s.tenant.exchange.run('Set-Mailbox', inside, { signal: new AbortController().signal })
    const off = { Identity: BOX, ForwardingSmtpAddress: null }
    const ended = await succeeds(s, 'Set-ExchangeForwarding', off)
    assert.partialDeepStrictEqual(ended, { PreviousForwardingAddress: 'lead', Changed: true })
    assert.equal(userOf(s, BOX).recipient!.forwardingAddress, null)
    assert.equal((await succeeds(s, 'Set-ExchangeForwarding', off)).Changed, false)
  })

  story('an impossible mailbox move fails with its reason', async (s) => {
    await prepare(s)
    await succeeds(s, 'New-MigrationBatch', CASES['New-MigrationBatch']!.params)
    const asked = { Identity: KIM }
    await fails(s, 'Test-MigrationUser', asked, 'MigrationStopped', /is Failed: .*WithoutLicense/)
  })

  story('a mailbox move is synced, then completed', async (s) => {
    const license = { UserId: KIM, SkuId: 'CROSS_TENANT_USER_DATA_MIGRATION' }
    await prepare(s)
    await succeeds(s, 'Add-EntraUserLicense', license)
    await succeeds(s, 'New-MigrationBatch', CASES['New-MigrationBatch']!.params)
    const copied = { Identity: KIM, WaitFor: 'Synced' }
    assert.equal((await succeeds(s, 'Test-MigrationUser', copied)).complete, false)
    await s.clock.wait(2 * 3_600_000)
    assert.equal((await succeeds(s, 'Test-MigrationUser', copied)).complete, true)
    assert.equal((await succeeds(s, 'Test-MigrationUser', { Identity: KIM })).complete, false)
    await s.clock.wait(30 * 86_400_000)
    assert.equal((await succeeds(s, 'Test-MigrationUser', { Identity: KIM })).complete, true)
    assert.equal(userOf(s, OBRIEN).recipient!.kind, 'mailbox')
  })
})

describe('Send-Notification by webhook', () => {
  const params = { Subject: 'It begins', Body: 'Tomorrow' }

  it('posts to a listed host', async () => {
    const got: string[] = []
    const server = createServer((request, response) => {
      request.on('data', (part) => got.push(String(part)))
      request.on('end', () => response.writeHead(204).end())
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const host = `127.0.0.1:${(server.address() as AddressInfo).port}`
    await within({ env: { MATOOLKIT_WEBHOOK_HOSTS: host } }, async (s) => {
      const sent = await succeeds(s, 'Send-Notification', {
        ...params,
        WebhookUrl: `http://${host}/hook`,
      })
      assert.deepEqual(sent, { Channel: 'webhook', Recipients: 1, Status: 204 })
    })
    server.close()
    assert.partialDeepStrictEqual(JSON.parse(got.join('')), {
      subject: 'It begins',
      body: 'Tomorrow',
    })
  })

  for (const WebhookUrl of [
    'https://elsewhere.example/hook',
    'http://169.254.169.254/metadata/identity',
    'https://hooks.example@elsewhere.example/',
    'https://hooks.example.elsewhere.example/',
  ])
    story(
      `does not call ${WebhookUrl}`,
      (s) =>
        fails(
          s,
          'Send-Notification',
          { ...params, WebhookUrl },
          'HostNotAllowed',
          /Refused to call the webhook/,
        ),
      { env: { MATOOLKIT_WEBHOOK_HOSTS: 'hooks.example' } },
    )

  story('requires exactly one channel with all its parameters', async (s) => {
    const both = { ...CASES['Send-Notification']!.params, WebhookUrl: 'https://hooks.example/' }
    await fails(
      s,
      'Send-Notification',
      both,
      'UnfitParameters',
      /either To and From.*or WebhookUrl/,
    )
    await fails(s, 'Send-Notification', params, 'UnfitParameters', /either To and From/)
    const half = { ...params, To: KIM }
    await fails(s, 'Send-Notification', half, 'UnfitParameters', /both To and From/)
  })
})
