// Pseudonyms of a recording: nobody is named in whatever Microsoft may answer, and what an answer means stays readable.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { JsonObject } from '../../../src/base/text/json.ts'
import { Pseudonyms } from '../../../src/m365/check/pseudonyms.ts'

const TENANT = 'b4c546a4-7dac-46a6-a7dd-ed822a11efd3'
const open = () => new Pseudonyms({ organization: 'acme.onmicrosoft.com', tenantId: TENANT })
const NAMES = /acme|zoe|zimmer|zenith|b4c546a4|7dac46a6/i

const SENTENCES = [
  "The operation couldn't be performed because object 'zoe.zimmer@acme.de' couldn't be found on 'AM0PR07A001.EURPR07A001.PROD.OUTLOOK.COM'.",
  'Ex6F9304|Microsoft.Exchange.Configuration.Tasks.ManagementObjectNotFoundException|The mailbox "Zoe Zimmer" doesn’t exist.',
  'Recipient CN=Zoe Zimmer,OU=acme.onmicrosoft.com,OU=Microsoft Exchange Hosted Organizations,DC=EURPR07A001 is on hold.',
  'LegacyExchangeDN /o=ExchangeLabs/ou=Zenith/cn=Recipients/cn=zoe.zimmer is missing.',
  `Tenant ${TENANT} and b4c546a47dac46a6a7dded822a11efd3 are known, acme.de is not.`,
  'Bearer eyJhbGciOiJSUzI1NiJ9.eyJ1cG4iOiJ6b2VAYWNtZS5kZSJ9.c2lnbmF0dXJlLW9mLXpvZQ was refused.',
  'Send to zoe.zimmer@zenith.acme.de; cc ZOE.ZIMMER@ACME.DE.',
  'The mailbox of Zoe Zimmer is too large.',
]

describe('pseudonyms', () => {
  it('leave no name in a sentence, and its meaning in it', () => {
    const pseudonyms = open()
    pseudonyms.learn({ value: [{ DisplayName: 'Zoe Zimmer', Mail: 'zoe.zimmer@acme.de' }] }, null)
    const told = SENTENCES.map((text) => pseudonyms.sentence(text, 'zoe.zimmer@acme.de'))
    for (const text of told) assert.doesNotMatch(text, NAMES)
    assert.match(
      told[0]!,
      /^The operation couldn't be performed because object '<identity>' couldn't be found on '/,
    )
    assert.match(
      told[1]!,
      /^Ex6F9304\|Microsoft\.Exchange\.\S+\.ManagementObjectNotFoundException\|/,
    )
    assert.match(told[7]!, /^The mailbox of text\d is too large\.$/)
  })

  it('keep fixed words, forms and what belongs together', () => {
    const pseudonyms = open()
    const person: JsonObject = {
      RecipientTypeDetails: 'UserMailbox',
      DisplayName: 'Zoe Zimmer',
      UserPrincipalName: 'zoe.zimmer@acme.de',
      EmailAddresses: ['SMTP:zoe.zimmer@acme.de', 'x500:/o=ExchangeLabs/cn=zoe'],
      WhenCreated: '2026-03-04T05:06:07.1234567+01:00',
      StartTime: '11/16/2026 10:30:00 AM',
      TotalItemSize: '2.5 GB (2,684,354,560 bytes)',
      ItemCount: 4711,
      HiddenFromAddressListsEnabled: false,
      ArchiveGuid: TENANT,
      StateOrProvince: 'Zenith',
      extension_b4c546a47dac46a6a7dded822a11efd3_cost: 'Zenith',
      '@odata.context': `https://graph.microsoft.com/${TENANT}`,
    }
    const told = pseudonyms.replaced(person, null) as JsonObject
    assert.doesNotMatch(JSON.stringify(told), NAMES)
    assert.deepEqual(told, {
      RecipientTypeDetails: 'UserMailbox',
      DisplayName: 'text1',
      UserPrincipalName: 'person1@domain1.example',
      EmailAddresses: ['SMTP:person1@domain1.example', 'x500:/o=dn1'],
      WhenCreated: '2020-01-02T03:04:05.0000000+01:00',
      StartTime: '11/11/1111 11:11:11 AM',
      TotalItemSize: '1 GB (1,073,741,824 bytes)',
      ItemCount: 1,
      HiddenFromAddressListsEnabled: false,
      ArchiveGuid: 'ffffffff-0000-4000-8000-000000000001',
      StateOrProvince: 'text2',
      'extension_ffffffff-0000-4000-8000-000000000002_cost': 'text2',
    })
  })

  it('find a name that is left', () => {
    const pseudonyms = open()
    assert.equal(pseudonyms.leftIn('{"at":"https://ACME.onmicrosoft.com"}'), 'acme.onmicrosoft.com')
    assert.equal(pseudonyms.leftIn('{"at":"<organization>"}'), null)
  })
})
