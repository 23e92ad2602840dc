# syntax=docker/dockerfile:1
# Two stages. The first installs the packages of the lock file, without their install scripts, and builds. The image contains
# the compiled program and its runtime packages. Its user can write only to /data and /tmp.
ARG NODE=24.21.0

FROM node:${NODE}-bookworm-slim AS build
WORKDIR /build
COPY package.json package-lock.json .npmrc ./
RUN npm ci --ignore-scripts
COPY . .
RUN npm run -s build && npm prune --omit=dev --ignore-scripts

FROM node:${NODE}-bookworm-slim
ENV NODE_ENV=production \
    NODE_OPTIONS="--disable-proto=delete --max-old-space-size=512" \
    MALLOC_ARENA_MAX=2 \
    TOLLGATE_LISTEN=0.0.0.0:8080 \
    TOLLGATE_OPS=0.0.0.0:9464 \
    TOLLGATE_STORAGE=sqlite:/data/tollgate.db
WORKDIR /app
COPY --from=build /build/package.json /build/LICENSE ./
COPY --from=build /build/node_modules ./node_modules
COPY --from=build /build/dist ./dist
COPY --from=build /build/schemas ./schemas
COPY --from=build /build/docs/recipes ./docs/recipes
# The template of `tollgate init`, and the configuration that is served unless you mount another.
COPY --from=build /build/gateway.yaml ./gateway.yaml
COPY --from=build /build/gateway.yaml /etc/tollgate/gateway.yaml
# The user of the image owns only /data.
RUN install -d -o 10001 -g 10001 -m 0700 /data && ln -s /app/dist/src/cli/tollgate.cjs /usr/local/bin/tollgate
# So commands without -c in `docker exec` read the served file.
WORKDIR /etc/tollgate
USER 10001:10001
VOLUME /data
# 8080 is for clients; 9464 is for operators and the health check: do not publish it.
EXPOSE 8080 9464
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=5s --timeout=3s --start-period=20s --retries=3 \
  CMD ["node", "/app/dist/src/cli/tollgate.cjs", "healthcheck", "--ops", "127.0.0.1:9464"]
# Node is process 1 and handles the signals itself.
ENTRYPOINT ["node", "/app/dist/src/cli/tollgate.cjs"]
CMD ["serve", "-c", "/etc/tollgate/gateway.yaml"]
