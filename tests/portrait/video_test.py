"""oriel-portrait pipe and video: videos made by the ffmpeg command, a disc that moves before a green screen."""

import json
import os
import re
import shutil
import subprocess

import numpy as np
import pytest
from conftest import GREEN, KEY, PERSON, disc, seen

needs_videos = pytest.mark.skipif(os.environ.get("ORIEL_PORTRAIT_VIDEOS") == "0" or not shutil.which("ffmpeg"),
                                 reason="NOT TESTED: videos; this build has no FFmpeg, or there is no ffmpeg command")


def frames(count, height=96, width=128):
    return np.stack([seen(disc(height, width, radius=24, centre=(height / 2, 40 + 2 * i))) for i in range(count)])


def ffmpeg(*arguments, **options):
    done = subprocess.run(["ffmpeg", "-v", "error", "-y", *map(str, arguments)], capture_output=True, timeout=120, **options)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout


def make(path, data, codec=("-c:v", "libx264", "-crf", "10", "-pix_fmt", "yuv420p"), sound=None, rate=25):
    count, height, width, _ = data.shape
    tone = ("-f", "lavfi", "-i", f"sine=440:duration={count / rate}", "-c:a", sound, "-shortest") if sound else ()
    source = ("-f", "rawvideo", "-pix_fmt", "rgb24", "-s", f"{width}x{height}", "-r", rate, "-i", "-")
    ffmpeg(*source, *tone[:4], *codec, *tone[4:], path, input=data.tobytes())


def read(path, shape, pixels="rgb24", decoder=()):
    channels = len(pixels) if pixels in ("rgba",) else 3
    raw = ffmpeg(*decoder, "-i", path, "-vsync", "passthrough", "-f", "rawvideo", "-pix_fmt", pixels, "-")
    return np.frombuffer(raw, np.uint8).reshape(-1, *shape, channels)


def probe(path):
    said = subprocess.run(["ffprobe", "-v", "error", "-show_streams", "-count_packets", "-of", "json", path],
                          capture_output=True, check=True).stdout
    return {stream["codec_type"]: stream for stream in json.loads(said)["streams"]}


def test_raw_frames_go_through_a_pipe(portrait):
    data = frames(7)
    done = portrait("pipe", "--size", "128x96", *KEY, input=data.tobytes())
    out = np.frombuffer(done.stdout, np.uint8).reshape(7, 96, 128, 4)
    for i in range(7):
        true = disc(96, 128, radius=24, centre=(48, 40 + 2 * i))
        assert np.abs(out[i, ..., 3] / 255 - true).mean() < 0.006, i
    done = portrait("pipe", "--size", "128x96", *KEY, "--background", "blue", input=data.tobytes())
    out = np.frombuffer(done.stdout, np.uint8).reshape(7, 96, 128, 3)
    assert (out[:, 5, 5] == (0, 0, 255)).all() and (out[0, 48, 40] == PERSON).all()
    done = portrait("pipe", "--size", "128x96", *KEY, "--only-mask", input=data.tobytes())
    assert len(done.stdout) == 7 * 96 * 128


def test_the_threads_change_no_frame(portrait):
    data = frames(9).tobytes()
    out = [portrait("pipe", "--size", "128x96", *KEY, "-t", t, input=data).stdout for t in (1, 2, 6)]
    assert out[0] == out[1] == out[2]


def test_bad_pipes_are_one_line_each(portrait, refusal):
    done = portrait("pipe", "--size", "4x4", *KEY, code=1, input=bytes(48 + 20))
    assert done.stderr == (b"oriel-portrait pipe: standard input: frame 1 ends after 20 of 48 bytes; "
                           b"allowed: whole RGB24 frames of 4x4\n")
    assert "no frame came" in refusal("pipe", "--size", "4x4", *KEY, input=b"")
    for size in ("4", "0x4", "4x", "4x4x4", "-1x4", "99999x4"):
        assert f"--size: '{size}' is not a size" in refusal("pipe", f"--size={size}", *KEY, code=2, input=b"")
    text = portrait("pipe", "--size", "8x8", "--key", "#28c83c", "--no-person", "fail", code=1,
                    input=bytes(GREEN) * 64).stderr
    assert b"frame 0: no person found" in text


@needs_videos
@pytest.mark.parametrize("sound", [None, "aac"])
def test_mp4_to_mp4(portrait, tmp_path, sound):
    data = frames(12)
    make(tmp_path / "in.mp4", data, sound=sound)
    done = portrait("video", "in.mp4", "out.mp4", *KEY, "--background", "blue", "--json")
    said = json.loads(done.stdout)
    assert (said["frames"], said["width"], said["height"], said["broken_packets"]) == (12, 128, 96, 0)
    out = read(tmp_path / "out.mp4", (96, 128))
    assert len(out) == 12
    for i in range(12):
        wanted = seen(disc(96, 128, radius=24, centre=(48, 40 + 2 * i)), behind=(0, 0, 255))
        assert np.abs(out[i].astype(int) - wanted).mean() < 6, i
    before, after = probe(tmp_path / "in.mp4"), probe(tmp_path / "out.mp4")
    assert after["video"]["codec_name"] == "h264" and after["video"]["r_frame_rate"] == "25/1"
    assert float(after["video"]["duration"]) == pytest.approx(12 / 25, abs=0.005)
    if sound:
        assert after["audio"]["nb_read_packets"] == before["audio"]["nb_read_packets"]
        packets = [ffmpeg("-i", tmp_path / f"{name}.mp4", "-map", "0:a", "-c", "copy", "-f", "adts", "-")
                   for name in ("in", "out")]
        assert packets[0] == packets[1]  # copied, not encoded again


@needs_videos
def test_webm_with_alpha(portrait, tmp_path):
    data = frames(8)
    make(tmp_path / "in.webm", data, codec=("-c:v", "libvpx-vp9", "-crf", "10", "-b:v", "0", "-pix_fmt", "yuv420p",
                                            "-deadline", "realtime", "-cpu-used", "8"), sound="libopus")
    portrait("video", "in.webm", "out.webm", *KEY)
    out = read(tmp_path / "out.webm", (96, 128), "rgba", decoder=("-c:v", "libvpx-vp9"))
    assert len(out) == 8
    for i in range(8):
        true = disc(96, 128, radius=24, centre=(48, 40 + 2 * i))
        assert np.abs(out[i, ..., 3] / 255 - true).mean() < 0.02, i
    assert {"video", "audio"} == set(probe(tmp_path / "out.webm"))


@needs_videos
def test_sound_that_does_not_fit_is_said_so(portrait, tmp_path):
    make(tmp_path / "in.mp4", frames(4), sound="aac")
    done = portrait("video", "in.mp4", "out.webm", *KEY)
    assert b"sound in aac was left out, since webm does not support it; .mkv does" in done.stdout
    portrait("video", "in.mp4", "out.mkv", *KEY)
    assert {"video", "audio"} == set(probe(tmp_path / "out.mkv"))


@needs_videos
def test_odd_sizes(portrait, tmp_path):
    data = frames(3, height=75, width=101)
    make(tmp_path / "in.mkv", data, codec=("-c:v", "ffv1"))
    done = portrait("video", "in.mkv", "out.mp4", *KEY, "--background", "white")
    assert b"the last row or column was repeated" in done.stdout
    video = probe(tmp_path / "out.mp4")["video"]
    assert (video["width"], video["height"]) == (102, 76)
    portrait("video", "in.mkv", "out.webm", *KEY)
    video = probe(tmp_path / "out.webm")["video"]
    assert (video["width"], video["height"]) == (101, 75)


@needs_videos
def test_frames_keep_their_times(portrait, tmp_path):
    data = frames(10)
    make(tmp_path / "steady.mp4", data)
    ffmpeg("-i", tmp_path / "steady.mp4", "-vf", "select='not(eq(mod(n,3),1))'", "-vsync", "vfr", "-c:v", "libx264",
           tmp_path / "in.mp4")
    portrait("video", "in.mp4", "out.mp4", *KEY, "--background", "white")

    def times(name):
        said = subprocess.run(["ffprobe", "-v", "error", "-show_entries", "frame=pts_time", "-of", "csv=p=0",
                               tmp_path / name], capture_output=True, check=True).stdout
        return [float(t.rstrip(b",")) for t in said.split()]

    assert times("out.mp4") == pytest.approx(times("in.mp4"), abs=0.002)


@needs_videos
def test_videos_held_upright(portrait, tmp_path):
    make(tmp_path / "lying.mp4", np.rot90(frames(3), axes=(1, 2)))
    ffmpeg("-i", tmp_path / "lying.mp4", "-c", "copy", "-metadata:s:v", "rotate=270", tmp_path / "in.mp4")
    portrait("video", "in.mp4", "out.mp4", *KEY, "--background", "white")
    upright = read(tmp_path / "in.mp4", (96, 128))  # as players show it
    out = read(tmp_path / "out.mp4", (96, 128))
    mask = np.abs(upright[0].astype(int) - PERSON).sum(axis=-1) < 60
    assert mask.sum() > 1000 and np.abs(out[0][mask].astype(int) - PERSON).mean() < 8


@needs_videos
def test_a_scene_cut_is_seen(portrait, tmp_path):
    dark = np.stack([seen(disc(96, 128, radius=20), person=(200, 30, 90), behind=(0, 40, 8))] * 4)
    make(tmp_path / "in.mp4", np.concatenate([frames(4), dark]))
    done = portrait("video", "in.mp4", "out.mp4", *KEY, "--background", "white", "--json")
    assert json.loads(done.stdout)["scene_cuts"] == 1


@needs_videos
def test_broken_packets_are_counted(portrait, tmp_path):
    make(tmp_path / "in.ts", frames(40), codec=("-c:v", "libx264", "-g", "5", "-crf", "10"))
    data = bytearray((tmp_path / "in.ts").read_bytes())
    rng = np.random.default_rng(3)
    for at in rng.integers(len(data) // 3, len(data) // 2, 60):
        data[at] ^= 0xFF
    (tmp_path / "broken.ts").write_bytes(data)
    done = portrait("video", "broken.ts", "out.mp4", *KEY, "--background", "white", "--json")
    said = json.loads(done.stdout)
    assert 20 <= said["frames"] <= 41
    assert len(read(tmp_path / "out.mp4", (96, 128))) == said["frames"]


@needs_videos
def test_bad_videos_are_one_line_each(portrait, refusal, tmp_path):
    make(tmp_path / "in.mp4", frames(4))
    whole = (tmp_path / "in.mp4").read_bytes()
    (tmp_path / "text.mp4").write_text("hello")
    (tmp_path / "cut.mp4").write_bytes(whole[: len(whole) // 2])  # its index was at the end
    ffmpeg("-f", "lavfi", "-i", "sine=440:duration=0.2", tmp_path / "sound.m4a")
    ffmpeg("-i", tmp_path / "in.mp4", "-c", "copy", tmp_path / "some.mkv")
    some = (tmp_path / "some.mkv").read_bytes()
    (tmp_path / "none.mkv").write_bytes(some[: some.index(b"\x1f\x43\xb6\x75")])  # nothing from the first cluster on
    key = (*KEY, "--background", "white")
    assert "text.mp4: cannot read the video: Invalid data" in refusal("video", "text.mp4", "out.mp4", *key)
    assert "cut.mp4: cannot read the video" in refusal("video", "cut.mp4", "out.mp4", *key)
    assert "sound.m4a: it has no video stream" in refusal("video", "sound.m4a", "out.mp4", *key)
    assert "none.mkv: cannot read the video: End of file" in refusal("video", "none.mkv", "out.mp4", *key)
    blank = bytearray(whole)
    begin = whole.index(b"mdat") + 4
    blank[begin : whole.index(b"moov") - 4] = bytes(whole.index(b"moov") - 4 - begin)
    (tmp_path / "blank.mp4").write_bytes(blank)
    assert "blank.mp4: no frame of it could be decoded" in refusal("video", "blank.mp4", "out.mp4", *key)
    assert "nothing.mp4: cannot open: No such file" in refusal("video", "nothing.mp4", "out.mp4", *key)
    assert "OUT: 'in.mp4' is IN too; allowed: another file, or --replace-input" in refusal("video", "in.mp4", "in.mp4", *key, code=2)
    assert "holds no transparency; allowed: .webm, .mkv" in refusal("video", "in.mp4", "out.mp4", *KEY, code=2)
    assert "'.avi' is not a video extension" in refusal("video", "in.mp4", "out.avi", *key, code=2)
    assert "frame 0: no person found" in refusal("video", "in.mp4", "out.mp4", "--key", "#5a283c", "--min-area", "0.99",
                                                 "--no-person", "fail", "--background", "red")


def cut_off(path, share, make_cut):
    whole = path.read_bytes()
    make_cut.write_bytes(whole[: int(len(whole) * share)])
    return make_cut.name


@needs_videos
@pytest.mark.parametrize("ending, about", [("mkv", "about "), ("mp4", ""), ("flv", "about "), ("avi", "about ")])
@pytest.mark.parametrize("sound", [None, "aac"])
def test_a_video_that_was_cut_off_is_said_so(portrait, tmp_path, ending, about, sound):
    data = frames(50)
    coder = ("mpeg4", "-q:v", "2") if ending == "avi" else ("libx264", "-crf", "10")
    make(tmp_path / f"whole.{ending}", data, sound=sound, codec=("-c:v", *coder, "-g", "10", "-pix_fmt", "yuv420p",
                                                                 *(("-movflags", "+faststart") if ending == "mp4" else ()),
                                                                 *(("-flvflags", "+add_keyframe_index") if ending == "flv" else ())))
    key = (*KEY, "--background", "white", "--json")
    done = portrait("video", f"whole.{ending}", "out.mp4", *key)
    said = json.loads(done.stdout)
    assert (said["frames"], said["ended_early"], said["notes"], done.stderr) == (50, False, [], b""), ending
    name = cut_off(tmp_path / f"whole.{ending}", 0.5, tmp_path / f"cut.{ending}")
    done = portrait("video", name, "out.mp4", *key)
    said = json.loads(done.stdout)
    assert 5 < said["frames"] < 45 and said["ended_early"] and len(said["notes"]) == 1
    note = said["notes"][0]
    wanted = re.fullmatch(rf"the file ends early: {said['frames']} of {about}(\d+) frames are in it, so the video is incomplete", note)
    assert 50 <= int(wanted[1]) <= (53 if about else 50), note  # sound goes on a little longer
    assert done.stderr.decode() == f"oriel-portrait video: {name}: {note}\n"
    assert len(read(tmp_path / "out.mp4", (96, 128))) == said["frames"]
    assert portrait("video", name, "out.mp4", *key[:-1], "--quiet").stderr == b""  # nothing is what was asked for


@needs_videos
@pytest.mark.parametrize("name, arguments", [
    ("trimmed.mp4", ("-ss", "0.5", "-i", "in.mp4", "-c", "copy")), ("shorter.mp4", ("-i", "in.mp4", "-t", "1", "-c", "copy")),
    ("dropped.mp4", ("-i", "in.mp4", "-vf", "select='not(eq(mod(n,3),1))'", "-vsync", "vfr")), ("copied.mkv", ("-i", "in.mp4", "-c", "copy")),
    ("dropped.mkv", ("-i", "in.mp4", "-vf", "select='not(eq(mod(n,3),1))'", "-vsync", "vfr")), ("live.mkv", ("-i", "in.mp4", "-c", "copy", "-live", "1")),
    ("pieces.mp4", ("-i", "in.mp4", "-c", "copy", "-movflags", "+frag_keyframe+empty_moov")), ("stream.ts", ("-i", "in.mp4", "-c", "copy")),
    ("later.mkv", ("-i", "in.mp4", "-c", "copy", "-output_ts_offset", "5")), ("copied.avi", ("-i", "in.mp4", "-c", "copy")),
    ("small.webm", ("-i", "in.mp4", "-c:v", "libvpx-vp9", "-deadline", "realtime", "-cpu-used", "8", "-an")), ("raw.h264", ("-i", "in.mp4", "-c", "copy", "-an")),
    ("slow.mp4", ("-i", "in.mp4", "-vf", "setpts=4*PTS", "-r", "7", "-an")), ("long_sound.mkv", ("-i", "in.mp4", "-af", "apad=pad_dur=2", "-c:v", "copy")),
])
def test_whole_videos_are_not_said_to_be_cut_off(portrait, tmp_path, name, arguments):
    make(tmp_path / "in.mp4", frames(40), sound="aac")
    ffmpeg(*(tmp_path / a if a == "in.mp4" else a for a in arguments), tmp_path / name)
    done = portrait("video", name, "out.mkv", *KEY, "--background", "white", "--json")
    assert (json.loads(done.stdout)["ended_early"], done.stderr) == (False, b"")
