// The cases of the functions that send mail.
import { secretNameOf } from '../../../src/m365/functions/entra/password.ts'
import type { Case } from './cases.ts'
import { CONTOSO, NOBODY, OBRIEN } from './tenants.ts'

/** setting.ts has it in the vault. */
export const PASS_OF_KIM = secretNameOf({ tenant: { id: CONTOSO } }, 'access-pass', OBRIEN)
const KIM = "kim.o'brien@contoso.example"

export const MAIL_CASES: Readonly<Record<string, Case>> = {
  'Send-Notification': {
    params: {
      From: 'box@contoso.example',
      To: [KIM, 'desk@contoso.example'],
      Subject: 'It begins',
      Body: 'Tomorrow at eight.',
    },
    gives: { Channel: 'mail', Recipients: 2, Status: 202 },
    again: {},
    effects: ['mail sent'],
    isRepeated: true,
    wrong: { From: '' },
    missing: { params: { From: 'nobody@contoso.example' }, says: /404/ },
  },
  'Send-SignInDetails': {
    params: {
      UserId: OBRIEN,
      Secret: PASS_OF_KIM,
      From: 'box@contoso.example',
      To: 'kim@home.example',
      Subject: 'Your first sign-in',
      Body: 'Dear Kim, your pass is [secret].',
    },
    gives: { UserId: OBRIEN, Kind: 'access pass', Status: 202 },
    again: {},
    effects: ['mail sent'],
    isRepeated: true,
    wrong: { Body: 'Your pass is on its way.' },
    missing: { params: { UserId: NOBODY }, says: /has no user/ },
  },
  'Send-Message': {
    params: {
      MessageId: 'wave/1/kim/7',
      Message: 'notice',
      Language: 'de',
      From: 'box@contoso.example',
      To: KIM,
      Subject: 'Es beginnt',
      Body: '<p>Morgen um acht.</p>',
      ContentType: 'HTML',
      StartTime: '2030-03-01T08:00:00.000Z',
      CorrectsTime: null,
      TellsTime: true,
    },
    gives: { Sent: true, Message: 'notice', Language: 'de' },
    again: { Sent: false },
    effects: ['mail sent'],
    wrong: { To: 'nobody' },
    missing: { params: { From: 'nobody@contoso.example' }, says: /404/ },
  },
}
