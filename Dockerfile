# syntax=docker/dockerfile:1
# One image for every role: `docker run … matoolkit serve --roles orchestrator`. docs/operating.md, section Containers, says more.
#   docker build -t matoolkit .                       the program
#   docker build -t matoolkit:pwsh --target pwsh .    with PowerShell 7, for workers with PowerShell modules
# Update the base by digest: docker buildx imagetools inspect node:24-bookworm-slim
FROM node:24-bookworm-slim@sha256:6f7b03f7c2c8e2e784dcf9295400527b9b1270fd37b7e9a7285cf83b6951452d AS base

FROM base AS dashboard
WORKDIR /build
COPY package.json package-lock.json .npmrc ./
RUN npm ci --ignore-scripts --no-fund --no-audit
COPY . .
RUN node -e "import('./scripts/setup.mjs').then(({ buildDashboard }) => buildDashboard())"

FROM base AS build
WORKDIR /build
# Separately, so that a change of the program does not install everything again.
COPY package.json package-lock.json .npmrc ./
RUN npm ci --omit=dev --ignore-scripts --no-fund --no-audit
COPY . .
COPY --from=dashboard /build/dashboard/dist dashboard/dist
RUN node scripts/image-tree.ts /app

FROM base AS program
# Nothing in here installs packages.
RUN rm -rf /usr/local/lib/node_modules /usr/local/bin/npm /usr/local/bin/npx /usr/local/bin/corepack /opt/yarn-* \
 && mkdir -p /data && chown 1000:1000 /data
COPY --from=build /app /app
ENV NODE_ENV=production \
    NODE_OPTIONS=--disable-warning=ExperimentalWarning \
    PATH=/app/bin:$PATH \
    MATOOLKIT_HOME=/data/home \
    MATOOLKIT_DATA_DIR=/data/database \
    MATOOLKIT_SECRETS_FOLDER=/data/secrets \
    MATOOLKIT_API_TOKEN_FILE=/data/home/api-token
WORKDIR /data
VOLUME /data
USER 1000:1000
EXPOSE 8080
# The API answers on its own port; every other role on the health port.
HEALTHCHECK --interval=30s --timeout=5s --start-period=60s --retries=3 \
  CMD ["node", "/app/bin/healthcheck.mjs"]
# Node is process 1: it gets SIGTERM and stops in order.
ENTRYPOINT ["node", "/app/lib/main.js"]
CMD ["--help"]

FROM program AS pwsh
USER 0:0
# The newest of Microsoft's package repository, checked by its signature.
RUN apt-get update \
 && apt-get install -y --no-install-recommends ca-certificates curl \
 && curl -fsSL -o /tmp/microsoft.deb https://packages.microsoft.com/config/debian/12/packages-microsoft-prod.deb \
 && dpkg -i /tmp/microsoft.deb \
 && apt-get update && apt-get install -y --no-install-recommends powershell \
 && apt-get purge -y curl && apt-get autoremove -y && rm -rf /var/lib/apt/lists/* /tmp/microsoft.deb
ENV POWERSHELL_TELEMETRY_OPTOUT=1
# To these the worker connects a module of functions before it runs one; docs/custom-functions.md.
RUN pwsh -NoLogo -NoProfile -NonInteractive -Command "\$ErrorActionPreference = 'Stop'; \
    foreach (\$part in 'Authentication', 'Users', 'Groups', 'Identity.SignIns') { \
      Install-PSResource -Name Microsoft.Graph.\$part -Version 2.25.0 -Scope AllUsers -TrustRepository -Quiet }; \
    Install-PSResource -Name ExchangeOnlineManagement -Version 3.7.1 -Scope AllUsers -TrustRepository -Quiet"
USER 1000:1000

# The last stage is what `docker build .` makes.
FROM program
