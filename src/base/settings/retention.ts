// Settings of what is kept: batches, personal data and the audit. Part of the table in config.ts.
import { aPath, httpsUrl, type SettingKind, setting, wholeNumber } from './kinds.ts'

const container = httpsUrl('')

/** A folder of that name would be made by mistake. */
const aPathOrContainer: SettingKind<string> = {
  mustBe: 'a path, or a container such as https://account.blob.core.windows.net/archive',
  read: (text) => {
    if (!/^\w{2,}:/.test(text)) return text
    return /^\w+:\/\/[^/?#]+\/[^/?#]+\/?$/.test(text) ? container.read(text) : undefined
  },
}

export const RETENTION_SETTINGS = {
  batchesKeptDays: setting<number | null>('MATOOLKIT_BATCHES_KEPT_DAYS', wholeNumber(8, 36_500), {
    default: null,
    defaultShown: 'forever',
    description:
      'Days to keep ended batches. Older ones are written to evidence packs and purged; their counters stay. On a server it needs MATOOLKIT_EVIDENCE_KEY.',
  }),
  personsKeptDays: setting<number | null>('MATOOLKIT_PERSONS_KEPT_DAYS', wholeNumber(8, 36_500), {
    default: null,
    defaultShown: 'as long as the batch',
    description:
      'Days to keep the personal data of ended batches. Then it is erased; counts, events and audit stay.',
  }),
  archive: setting('MATOOLKIT_ARCHIVE', aPathOrContainer, {
    default: '.matoolkit/archive',
    description:
      'Where evidence packs of purged batches go: a folder, or a container of Azure Blob storage, to which the managed identity may write. They hold personal data.',
  }),
  auditKeptDays: setting<number | null>('MATOOLKIT_AUDIT_KEPT_DAYS', wholeNumber(30, 36_500), {
    default: null,
    defaultShown: 'forever',
    description: 'Days to keep the audit. Older rows are deleted; the hash chain stays valid.',
  }),
  auditHeadsFile: setting<string | null>('MATOOLKIT_AUDIT_HEADS_FILE', aPath, {
    default: null,
    description:
      'File to which each head of the audit is appended as it is sealed, for `audit verify --against`. Keep it where database administrators cannot write.',
  }),
}
