# The page in a container; assets/docs/publish.md says how to build and run it.
#
#   docker build -t citer .
#   docker build -t citer-cuda --build-arg BASE=nvidia/cuda:12.8.1-base-ubuntu24.04 .
ARG BASE=python:3.12.12-slim-bookworm
FROM ${BASE}

# Python's own images have all of it; CUDA's have no Python. Whatever patch release its distribution has now is taken.
# hadolint ignore=DL3008
RUN python3 -c "import ensurepip" 2>/dev/null \
    || { apt-get update && apt-get install -y --no-install-recommends python3-venv && rm -rf /var/lib/apt/lists/*; }

RUN useradd --uid 10001 --create-home citer && install -d -o citer -g citer /var/cache/citer

# An index with torch's wheels for CPUs makes the image some GB smaller; without it they come with CUDA's libraries.
ARG TORCH_INDEX=""
COPY requirements.txt /tmp/requirements.txt
RUN python3 -m venv /opt/citer \
    && /opt/citer/bin/python -m pip install --no-cache-dir --disable-pip-version-check \
        ${TORCH_INDEX:+--extra-index-url "${TORCH_INDEX}"} -r /tmp/requirements.txt

WORKDIR /app
COPY LICENSE README.md app.py ./
COPY assets assets
COPY citer_core citer_core
RUN /opt/citer/bin/python -m compileall -q app.py citer_core

ENV PATH=/opt/citer/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    GRADIO_SERVER_NAME=0.0.0.0 \
    PORT=7860 \
    CITER_CACHE=/var/cache/citer
USER 10001
VOLUME /var/cache/citer
EXPOSE 7860
# Python's own way to stop: streams end, folders are cleared.
STOPSIGNAL SIGINT
HEALTHCHECK --interval=30s --timeout=5s --start-period=120s CMD ["python", "-c", "import os, urllib.request; urllib.request.urlopen(f'http://127.0.0.1:{os.environ[\"PORT\"]}/healthz', timeout=4)"]
CMD ["python", "app.py"]
