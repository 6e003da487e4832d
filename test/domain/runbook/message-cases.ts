// Problems of messages to members. «…» as in cases.ts.
import type { Case } from './cases.ts'
import { VALID } from './valid-runbook.ts'

/** A runbook that tells its members something; `edit` changes it. */
const MESSAGES = `messages:
  from: a@b.example
  default_language: en
  templates:
    notice: {correction: moved, texts: {en: {subject: "Hello {{Name}}", body: "{{_start_date}}"}}}
    moved: {texts: {en: {subject: New, body: "{{_former_date}}"}}}
phases:
  - name: cutover
    offset: T-0
    steps:
      - {name: tell, worker_id: w, notify: {message: notice, to: "{{Upn}}"}}
`
const told = (from: string, to: string): string =>
  VALID.slice(0, VALID.indexOf('phases:')) + MESSAGES.replace(from, () => to)

export const MESSAGE_CASES: readonly Case[] = [
  {
    code: 'UNKNOWN_MESSAGE',
    edit: told('message: notice', 'message: «notise»'),
    says: /"notise".*notice/,
  },
  {
    code: 'UNKNOWN_MESSAGE',
    edit: told('correction: moved', 'correction: «gone»'),
    says: /"gone"/,
  },
  {
    code: 'UNKNOWN_LANGUAGE',
    edit: told('"{{Upn}}"}', '"{{Upn}}", language: «de»}'),
    says: /"notice" has no text in "de"/,
  },
  {
    code: 'UNKNOWN_LANGUAGE',
    edit: told('moved: {texts: {en:', 'moved: {«texts»: {de:'),
    says: /"moved" has no text in "en".*default/,
  },
  {
    code: 'BAD_LANGUAGE',
    edit: told('default_language: en', 'default_language: «english»'),
    says: /"english"/,
  },
  {
    code: 'SECRET_IN_MESSAGE',
    edit: told('"Hello {{Name}}"', '«"{{secret:matoolkit-x}}"»'),
    says: /\{\{secret:matoolkit-x\}\}/,
  },
  {
    code: 'UNUSED_MESSAGE',
    edit: told('    moved:', '    «spare»: {texts: {en: {subject: A, body: B}}}\n    moved:'),
    says: /uses this message/,
  },
  {
    code: 'UNKNOWN_VARIABLE',
    edit: told('"Hello {{Name}}"', '«"{{Nam}}"»'),
    says: /\{\{Nam\}\}.*Name/,
  },
  {
    code: 'UNKNOWN_VARIABLE',
    edit: told('"Hello {{Name}}"', '«"{{_former_date}}"»'),
    says: /Only a correction knows it/,
  },
  {
    code: 'TEMPLATE_SYNTAX',
    edit: told('"Hello {{Name}}"', '«"Hello {{Name"»'),
    says: /is not closed/,
  },
  {
    code: 'CONFLICTING_KEYS',
    edit: told('worker_id: w,', 'worker_id: w, «on_failure»: x,'),
    says: /together with "notify"/,
  },
  {
    code: 'CONFLICTING_KEYS',
    edit: told(
      'phases:',
      'init: [{name: i, worker_id: w, «notify»: {message: notice, to: a@b.example}}]\nphases:',
    ),
    says: /no member to tell/,
  },
  {
    code: 'MISSING_KEY',
    edit: [
      'name: first\n        worker_id: worker-1\n        function: Do-It',
      '«name: first»\n        worker_id: worker-1',
    ],
    says: /needs the key "function"/,
  },
]
