// Settings of telemetry. The names are the standard ones of OpenTelemetry and Application Insights, so what a platform sets works.
import { aText, httpUrl, type SettingKind, setting } from './kinds.ts'

const aShare: SettingKind<number> = {
  mustBe: 'a number from 0 to 1',
  read: (text) => (/^(?:0|1|0?\.\d{1,9}|1\.0+)$/.test(text) ? Number(text) : undefined),
}

const HEADERS = /^[\w-]+=[^,=]+(?:=*)(?:,[\w-]+=[^,=]+(?:=*))*$/
const headerList: SettingKind<string> = {
  mustBe: 'headers such as api-key=secret,x-team=migration',
  read: (text) => (HEADERS.test(text) ? text : undefined),
}

const insightsConnection: SettingKind<string> = {
  mustBe:
    'a connection string such as InstrumentationKey=00000000-0000-0000-0000-000000000000;IngestionEndpoint=https://…',
  read: (text) => (/(?:^|;)InstrumentationKey=[0-9a-f-]{36}(?:;|$)/i.test(text) ? text : undefined),
}

const insightsSignIn: SettingKind<string> = {
  mustBe: '"Authorization=AAD" or "Authorization=AAD;ClientId=GUID"',
  read: (text) =>
    /^Authorization=AAD(?:;ClientId=[0-9a-f-]{36})?$/i.test(text) ? text : undefined,
}

export const TELEMETRY_SETTINGS = {
  otlpEndpoint: setting<string | null>(
    'OTEL_EXPORTER_OTLP_ENDPOINT',
    httpUrl('http://localhost:4318'),
    {
      default: null,
      defaultShown: 'none',
      description:
        'Collector that gets traces, metrics, lifecycle events and log lines by OTLP over HTTP; see docs/operating.md. Without it nothing is loaded or sent.',
    },
  ),
  otlpHeaders: setting<string | null>('OTEL_EXPORTER_OTLP_HEADERS', headerList, {
    default: null,
    defaultShown: 'none',
    description: 'Headers of each request to the collector, such as its key.',
    secret: true,
  }),
  traceRatio: setting('OTEL_TRACES_SAMPLER_ARG', aShare, {
    default: 1,
    description:
      'Share of traces that are sent, decided by the trace id; the same in every process.',
  }),
  serviceName: setting('OTEL_SERVICE_NAME', aText, {
    default: 'matoolkit',
    description: 'Name of this process in traces and metrics.',
  }),
  insightsConnection: setting<string | null>(
    'APPLICATIONINSIGHTS_CONNECTION_STRING',
    insightsConnection,
    {
      default: null,
      defaultShown: 'none',
      description:
        'Application Insights that gets traces, metrics, lifecycle events, log lines and exceptions.',
      secret: true,
    },
  ),
  insightsSignIn: setting<string | null>(
    'APPLICATIONINSIGHTS_AUTHENTICATION_STRING',
    insightsSignIn,
    {
      default: null,
      defaultShown: 'none',
      description:
        'Signs in to Application Insights with the managed identity, where keys are switched off.',
    },
  ),
}
