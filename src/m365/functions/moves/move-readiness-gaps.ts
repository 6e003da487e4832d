// What stands between one person and the mailbox move, each gap with its remedy. Pure: facts in, sentences out. Unless another source
// is named, the rules are those of "Cross-tenant mailbox migration" (learn.microsoft.com, as of 2024-02-01).
import type { ExchangeRecipient } from '../exchange/exchange-recipient.ts'
import { isNoGuid, isSameText } from '../parameters.ts'

export interface Gap {
  readonly Gap: string
  readonly Remedy: string
}

/** What the move asks of its target. */
export interface WantedMove {
  readonly identity: string
  readonly exchangeGuid: string
  /** Null: the source has no archive. */
  readonly archiveGuid: string | null
  readonly x500: readonly string[]
  readonly deliveryDomain: string
  /** Addresses of the source mailbox; empty when not given. */
  readonly sourceAddresses: readonly string[]
  readonly holds: readonly string[]
  readonly organizationHolds: readonly string[]
  readonly sizeBytes: number | null
  readonly archiveSizeBytes: number | null
  readonly recoverableBytes: number | null
  readonly auxiliaryArchives: number | null
  readonly isLicensedAtSource: boolean
}

/** What the target tenant shows. */
export interface TargetFacts {
  readonly recipient: ExchangeRecipient
  readonly recipientType: string
  readonly hadMailbox: boolean
  readonly acceptedDomains: readonly string[]
  /** Names of the plans that licences give. */
  readonly plans: readonly string[]
}

const GIGABYTE = 1024 ** 3
const STAMP = 'Stamp it: Set-ExchangeMoveTarget.'

/** "We support moving users that have no more than 12 auxiliary archive mailboxes." */
const AUXILIARY_MAX = 12

/** The blocks of the source mailbox, which hold whatever the target looks like. */
export function sourceGaps({ holds, auxiliaryArchives }: WantedMove): Gap[] {
  const gaps: (Gap | false)[] = [
    holds.length > 0 && {
      Gap: `The source mailbox is on hold (${holds.join(', ')}), which blocks the move.`,
      Remedy:
        'Release the holds in the source tenant, then read the mailbox again: Get-ExchangeMoveSource.',
    },
    (auxiliaryArchives ?? 0) > AUXILIARY_MAX && {
      Gap: `The archive has ${auxiliaryArchives} auxiliary archives; Microsoft moves at most ${AUXILIARY_MAX}.`,
      Remedy: 'Leave this person out, and ask Microsoft or export the archive.',
    },
  ]
  return gaps.filter((one) => one !== false)
}

/** Default quotas of a mailbox without holds: "Exchange Online limits". Whether a move stops at them is unconfirmed. */
const RECOVERABLE_GB = 30
const ARCHIVE_GB = 100

/** No document says that these block a move, so no person is stopped for them. */
export function sourceWarnings(wanted: WantedMove): string[] {
  const { organizationHolds, archiveSizeBytes, recoverableBytes, auxiliaryArchives } = wanted
  const isOver = (bytes: number | null, gigabytes: number) => (bytes ?? 0) > gigabytes * GIGABYTE
  const warnings: (string | false)[] = [
    organizationHolds.length > 0 &&
      `Policies of the source organisation hold the mailbox (${organizationHolds.join(', ')}). If the move stops for a hold, exclude the mailbox: Set-Mailbox -ExcludeFromAllOrgHolds.`,
    isOver(recoverableBytes, RECOVERABLE_GB) &&
      `The recoverable items have more than ${RECOVERABLE_GB} GB, and move too.`,
    isOver(archiveSizeBytes, ARCHIVE_GB) &&
      `The archive has more than ${ARCHIVE_GB} GB: copying takes long, and the target needs an auto-expanding archive.`,
    (auxiliaryArchives ?? 0) > 0 &&
      'The archive expands by itself. If it does so during the move, the move fails: remove it and add it again.',
  ]
  return warnings.filter((one) => one !== false)
}

export function targetGaps(wanted: WantedMove, facts: TargetFacts): Gap[] {
  if (facts.recipient.kind === 'Mailbox') return mailboxGaps(wanted, facts.recipient)
  return [
    ...typeGaps(wanted, facts),
    ...guidGaps(wanted, facts.recipient),
    ...addressGaps(wanted, facts),
    ...licenceGaps(wanted, facts),
    ...sizeGaps(wanted, facts),
  ]
}

export const isMoved = ({ exchangeGuid }: WantedMove, recipient: ExchangeRecipient): boolean =>
  recipient.kind === 'Mailbox' && isSameText(recipient.exchangeGuid, exchangeGuid)

const mailboxGaps = (wanted: WantedMove, recipient: ExchangeRecipient): Gap[] =>
  isMoved(wanted, recipient)
    ? []
    : [
        {
          Gap: `"${wanted.identity}" has a mailbox of its own, ${recipient.exchangeGuid}: it received an Exchange licence before the ExchangeGuid was stamped.`,
          Remedy:
            'Remove the licence (Remove-EntraUserLicense), clear the mailbox (Clear-ExchangePreviousMailbox), then stamp the target (Set-ExchangeMoveTarget).',
        },
      ]

function typeGaps({ identity }: WantedMove, { recipientType, hadMailbox }: TargetFacts): Gap[] {
  return [
    ...(isSameText(recipientType, 'GuestMailUser')
      ? [
          {
            Gap: `"${identity}" is a guest; a mailbox moves to a mail user.`,
            Remedy: 'Make the guest a member: Convert-EntraB2BToInternal.',
          },
        ]
      : []),
    // Exchange shows that there was one, not which.
    ...(hadMailbox
      ? [
          {
            Gap: `"${identity}" had a mailbox here before, which blocks the move of another one.`,
            Remedy:
              'If that mailbox is not needed, clear it for good: Clear-ExchangePreviousMailbox.',
          },
        ]
      : []),
  ]
}

function guidGaps(
  { exchangeGuid, archiveGuid }: WantedMove,
  { exchangeGuid: primary, archiveGuid: archive }: ExchangeRecipient,
): Gap[] {
  const shown = (guid: string) => (isNoGuid(guid) ? 'not set' : guid)
  const gaps: Gap[] = []
  if (!isSameText(primary, exchangeGuid))
    gaps.push({
      Gap: `ExchangeGuid is ${shown(primary)}; the source mailbox has ${exchangeGuid}.`,
      Remedy: STAMP,
    })
  if (archiveGuid !== null && !isSameText(archive, archiveGuid))
    gaps.push({
      Gap: `ArchiveGuid is ${shown(archive)}; the archive of the source has ${archiveGuid}.`,
      Remedy: STAMP,
    })
  if (archiveGuid === null && !isNoGuid(archive))
    gaps.push({
      Gap: `ArchiveGuid is ${archive}; the source mailbox has no archive.`,
      Remedy:
        'If the source has an archive by now, read it again (Get-ExchangeMoveSource). Otherwise disable the archive of the target.',
    })
  return gaps
}

const isSmtp = (proxy: string): boolean => /^smtp:/i.test(proxy)
const domainOf = (proxy: string): string => proxy.slice(proxy.lastIndexOf('@') + 1).toLowerCase()

function addressGaps(wanted: WantedMove, { recipient, acceptedDomains }: TargetFacts): Gap[] {
  const { addresses, external } = recipient
  const has = (one: string) => addresses.some((other) => isSameText(other, one))
  const smtp = addresses.filter(isSmtp)
  const delivers = wanted.deliveryDomain.toLowerCase()
  const missing = wanted.x500.filter((one) => !has(one))
  const foreign = smtp.filter((one) => !acceptedDomains.includes(domainOf(one)))
  const isExternalWrong =
    external === '' ||
    (wanted.sourceAddresses.length > 0 &&
      !wanted.sourceAddresses.some((one) => isSameText(one, `smtp:${external}`)))
  const gaps: (Gap | false)[] = [
    missing.length > 0 && {
      Gap: `These x500 addresses of the source are missing: ${missing.join(', ')}.`,
      Remedy: STAMP,
    },
    !acceptedDomains.includes(delivers) && {
      Gap: `The delivery domain "${wanted.deliveryDomain}" is not an accepted domain of this tenant.`,
      Remedy: `Use one of: ${acceptedDomains.join(', ')}.`,
    },
    // "The target mailbox doesn't have an smtp proxy matching": learn.microsoft.com, no-smtp-proxy-matching.
    !smtp.some((one) => domainOf(one) === delivers) && {
      Gap: `No address is in the delivery domain ${wanted.deliveryDomain}.`,
      Remedy: STAMP,
    },
    foreign.length > 0 && {
      Gap: `These addresses are not in a domain of this tenant, which blocks the move: ${foreign.join(', ')}.`,
      Remedy:
        'If one is the primary address, set another: Set-ExchangePrimaryEmail. Then remove them: Set-ExchangeMoveTarget.',
    },
    isExternalWrong && {
      Gap: `ExternalEmailAddress is "${external}", which is no address of the source mailbox.`,
      Remedy: 'Set it to an address of the source mailbox: Set-ExchangeExternalAddress.',
    },
  ]
  return gaps.filter((one) => one !== false)
}

/**
 * The names vary by where the licence was bought; seen were CROSS_TENANT_USER_DATA_MIGRATION, CROSSTENANTUSERDATAMIGRATION and the plan
 * EXCHANGEONLINE_T2TMBXMOVE (Exchange Team Blog: "EXCHANGET2TMBXMOVE"). No document lists them all: unconfirmed.
 */
export const isMoveLicence = (name: string): boolean =>
  /T2TMBXMOVE|CROSSTENANTUSERDATAMIGRATION/i.test(name.replaceAll('_', ''))

function licenceGaps({ isLicensedAtSource }: WantedMove, { plans }: TargetFacts): Gap[] {
  if (isLicensedAtSource || plans.some(isMoveLicence)) return []
  return [
    {
      Gap: 'The licence Cross Tenant User Data Migration is missing.',
      Remedy:
        'Assign it here (Add-EntraUserLicense) or in the source tenant (then set IsLicensedAtSource).',
    },
  ]
}

/**
 * Sizes of mailboxes by plan: 50 GB with E1, 100 GB with E3 and E5, 2 GB for Kiosk, by copies of Microsoft's page "Exchange Online limits" of 2017
 * and 2021. Whether Plan 1 has more by now is unconfirmed.
 */
const QUOTAS_GB: Readonly<Record<string, number>> = {
  EXCHANGE_S_ENTERPRISE: 100,
  EXCHANGE_S_STANDARD: 50,
  EXCHANGE_S_DESKLESS: 2,
}
const QUOTA_MAX_GB = 100

/** Without an Exchange licence yet, only the largest mailbox there is counts: licences may follow within 30 days after the move. */
function sizeGaps({ sizeBytes }: WantedMove, { plans }: TargetFacts): Gap[] {
  const quotas = plans.flatMap((plan) => QUOTAS_GB[plan.toUpperCase()] ?? [])
  const quotaGb = quotas.length > 0 ? Math.max(...quotas) : QUOTA_MAX_GB
  if (sizeBytes === null || sizeBytes <= quotaGb * GIGABYTE) return []
  return [
    {
      Gap: `The source mailbox has ${(sizeBytes / GIGABYTE).toFixed(1)} GB; the mailbox here may have ${quotaGb} GB.`,
      Remedy:
        quotaGb < QUOTA_MAX_GB
          ? 'Assign a licence with a larger mailbox, or make the source mailbox smaller, for example with an archive.'
          : 'Make the source mailbox smaller, for example with an archive.',
    },
  ]
}
